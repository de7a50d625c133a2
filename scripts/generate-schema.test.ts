/** docs/schema.md and the example's schema files say what the definitions say. After a change: node scripts/generate-schema.ts */
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { schemaFiles } from "../src/cli/schema.ts";
import { ISSUE_CODES } from "../src/domain/gitops/issue-codes.ts";
import { EXAMPLE_SCHEMAS, SCHEMA_PAGE } from "./generate-schema.ts";
import { CODE_NOTES } from "./schema-codes.ts";
import { schemaPage } from "./schema-page.ts";

describe("docs/schema.md", () => {
  test("is what the generator writes", async () => {
    expect(await readFile(SCHEMA_PAGE, "utf8")).toBe(schemaPage());
  });
  test("explains every code of an issue, and no code that does not exist", async () => {
    expect(Object.keys(CODE_NOTES).toSorted()).toEqual(Object.keys(ISSUE_CODES).toSorted());
    const page = await readFile(SCHEMA_PAGE, "utf8");
    for (const code of Object.keys(ISSUE_CODES)) expect(page).toContain(`\n### ${code}\n`);
  });
  test("each of its links leads to a heading of the page or to a file", async () => {
    const page = await readFile(SCHEMA_PAGE, "utf8");
    const anchors = new Set(
      Array.from(page.matchAll(/^#+ (.+)$/gm), ([, title = ""]) =>
        title
          .toLowerCase()
          .replaceAll(/[^\w\- ]/g, "")
          .replaceAll(" ", "-"),
      ),
    );
    for (const [, anchor = ""] of page.matchAll(/\]\(#([^)]+)\)/g)) expect(anchors).toContain(anchor);
    for (const [, path = ""] of page.matchAll(/\]\((?!#|https:)([^)#]+)/g)) {
      expect((await readFile(join(dirname(SCHEMA_PAGE), path))).length, path).toBeGreaterThan(0);
    }
  });
});

describe("the schema files of examples/quickstart", () => {
  test("are what myrctl schema writes", async () => {
    const files = await readdir(EXAMPLE_SCHEMAS);
    expect(files.toSorted()).toEqual([...schemaFiles().keys()].toSorted());
    for (const [name, text] of schemaFiles()) expect(await readFile(join(EXAMPLE_SCHEMAS, name), "utf8")).toBe(text);
  });
  test("are named by the first line of each file of its kind", async () => {
    const root = join(EXAMPLE_SCHEMAS, "..");
    const all = await readdir(root, { recursive: true });
    const yaml = all.filter((path) => path.endsWith(".yaml"));
    expect(yaml.length).toBeGreaterThan(15);
    for (const path of yaml) {
      const text = await readFile(join(root, path), "utf8");
      const kind = /^kind: (\w+)$/m.exec(text)?.[1];
      const name = kind === undefined ? "sample-agent" : kind.replaceAll(/(?<=[a-z])[A-Z]/g, "-$&").toLowerCase();
      const schema = relative(dirname(join(root, path)), join(EXAMPLE_SCHEMAS, `${name}.schema.json`));
      expect(text.split("\n")[0], path).toBe(`# yaml-language-server: $schema=${schema}`);
    }
  });
});
