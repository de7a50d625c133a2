/** docs/validate.md tells of commands, options, files and codes that exist. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { runMyrctl } from "../src/cli/program.ts";
import { checkSchema } from "../src/domain/gitops/schema-issues.ts";
import { sampleAgent } from "../src/domain/gitops/kinds/sample-agent.ts";

const path = fileURLToPath(new URL("../docs/validate.md", import.meta.url));
const page = readFileSync(path, "utf8");
/** Each call of myrctl in the text: its command, and the options up to the end of line, comment or code. */
const calls = Array.from(
  page.matchAll(/myrctl(?:\.mjs"?)? (validate|render|diff|schema|init)\b([^\n`#]*)/g),
  ([, command = "", rest = ""]) => ({ command, options: rest.match(/--[a-z-]+/g) ?? [] }),
);

test("each command has the options that the page gives it", async () => {
  expect(new Set(calls.map(({ command }) => command))).toEqual(
    new Set(["validate", "render", "diff", "schema", "init"]),
  );
  for (const { command, options } of calls) {
    const out: string[] = [];
    const io = { out: (text: string) => void out.push(text), err: (text: string) => void out.push(text) };
    await runMyrctl([command, "--help"], {}, io, "0");
    for (const option of options) expect(out.join("\n"), command).toMatch(new RegExp(`${option}\\b`));
  }
});

test("every format stands in its table, and no other", async () => {
  const out: string[] = [];
  const io = { out: (text: string) => void out.push(text), err: (text: string) => void out.push(text) };
  await runMyrctl(["validate", "--help"], {}, io, "0");
  const choices = /--format <format>[\s\S]*?choices: ([^)]*?), default/.exec(out.join("\n"))?.[1] ?? "";
  const rows = Array.from(page.matchAll(/^\| `(\w+)` \|/gm), ([, name]) => name);
  expect(rows).toEqual(Array.from(choices.matchAll(/"(\w+)"/g), ([, name]) => name));
});

test("its sample agent is one", () => {
  const [sample = ""] = Array.from(page.matchAll(/```yaml\n(# yaml[^`]*?name: [^`]*?)```/g), ([, text]) => text);
  const data = parseAllDocuments(sample)[0]?.toJS() as never;
  expect(checkSchema(sampleAgent, data).findings).toEqual([]);
});

test("its commands for CI are those of the files that myrctl init writes", () => {
  const files = [".github/workflows/validate.yml", ".gitlab-ci.yml"].map((name) =>
    readFileSync(join(dirname(path), "../examples/starter", name), "utf8"),
  );
  const commands = Array.from(page.matchAll(/node "\$MYRIARCH_DIR[^\n]+/g), ([line]) => line);
  expect(commands).toHaveLength(3);
  for (const command of commands)
    expect(
      files.some((text) => text.includes(command)),
      command,
    ).toBe(true);
});

test("each of its links leads somewhere", () => {
  const headings = (text: string): string[] =>
    Array.from(text.matchAll(/^#+ (.+)$/gm), ([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    );
  for (const [, file = "", anchor] of page.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
    const text = readFileSync(file === "" ? path : join(dirname(path), file), "utf8");
    if (anchor !== undefined) expect(headings(text), file).toContain(anchor);
  }
});
