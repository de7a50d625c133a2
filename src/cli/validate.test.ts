import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runValidate, type ValidateOptions } from "./validate.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/quickstart", import.meta.url));
let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-validate-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
};
const run = async (more: Partial<ValidateOptions> = {}): Promise<{ code: number; out: string; err: string }> => {
  const said = { out: "", err: "" };
  const io = { out: (text: string) => void (said.out += text), err: (text: string) => void (said.err += text) };
  return { code: await runValidate({ folder, format: "text", ...more }, io), ...said };
};
const FLEET =
  "apiVersion: myriarch.dev/v1alpha1\nkind: Fleet\nmetadata: {name: a}\nspec:\n  selector: {}\n  blueprnt: base\n  blueprint: base\n";

test("the quickstart's repository is valid: exit 0", async () => {
  expect(await run({ folder: EXAMPLE, strict: true })).toEqual({
    code: 0,
    out: "valid: 7 objects, 0 errors, 0 warnings",
    err: "",
  });
});

test("an invalid folder: exit 1, each issue with file, line, code, hint, the source line and a caret", async () => {
  await write("fleets/a.yaml", FLEET);
  const { code, out } = await run();
  expect(code).toBe(1);
  expect(out).toContain(
    `${folder}/fleets/a.yaml:6:3: error unknown_field: spec.blueprnt: blueprnt is not a known field (did you mean blueprint?)`,
  );
  expect(out).toContain("  6 |   blueprnt: base\n    |   ^");
  expect(out).toContain("invalid: 0 objects, 1 errors, 0 warnings");
});

test("json is one document with every issue, github one annotation per issue", async () => {
  await write("fleets/a.yaml", FLEET);
  const json = JSON.parse((await run({ format: "json" })).out) as {
    valid: boolean;
    issues: { code: string; line: number }[];
  };
  expect(json).toMatchObject({ valid: false, issues: [{ code: "unknown_field", file: "fleets/a.yaml", line: 6 }] });
  const { out } = await run({ format: "github", folder });
  expect(out.split("\n")[0]).toBe(
    `::error file=${folder}/fleets/a.yaml,line=6,col=3,title=unknown_field::spec.blueprnt: blueprnt is not a known field (did you mean blueprint?)`,
  );
});

test("warnings do not block, unless they are asked to", async () => {
  await write("f.yaml", FLEET.replace("  blueprnt: base\n", ""));
  await write(
    "b.yaml",
    "apiVersion: myriarch.dev/v1alpha1\nkind: Blueprint\nmetadata: {name: base}\nspec: {config: {a: {password: x}}}\n",
  );
  expect((await run()).code).toBe(0);
  expect((await run({ strict: true })).code).toBe(1);
});

test.each([
  ["a folder that is not there", "nowhere"],
  ["a file", "x.txt"],
  ["a folder without YAML", "empty"],
])("%s: exit 2, the reason on stderr", async (_, name) => {
  await write("x.txt", "x");
  await mkdir(join(folder, "empty"));
  const { code, out, err } = await run({ folder: join(folder, name) });
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain("cannot be validated");
});

test("links are refused and not followed; control characters never reach the terminal", async () => {
  await write("a.yaml", "a: 1\n\u001b[31m: 2\n");
  await symlink("/etc/passwd", join(folder, "b.yaml"));
  const { code, out } = await run();
  expect(code).toBe(1);
  expect(out).toContain("error not_regular_file: a symbolic link");
  expect(out).not.toContain("root:");
  expect(out).not.toContain("\u001b");
});
