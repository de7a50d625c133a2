import { once } from "node:events";
import { chown, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createGitRepository, type GitRepository } from "../../test/support/git-repository.ts";
import { myrctl, type Said } from "../../test/support/myrctl.ts";
import { paintFor } from "./terminal.ts";

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
const validate = (...args: string[]): Promise<Said> => myrctl(["validate", ...args]);
type Json = { valid: boolean; objects: number; commit?: string; issues: Record<string, unknown>[] };
const json = async (...args: string[]): Promise<Json> =>
  JSON.parse((await validate(...args, "--format", "json")).out) as Json;

const FLEET =
  "apiVersion: myriarch.dev/v1alpha1\nkind: Fleet\nmetadata: {name: a}\nspec:\n  selector: {}\n  blueprnt: base\n  blueprint: base\n";
const VALID = FLEET.replace("  blueprnt: base\n", "");
const PASSWORD =
  "apiVersion: myriarch.dev/v1alpha1\nkind: Blueprint\nmetadata: {name: base}\nspec: {config: {a: {password: x}}}\n";

test("the quickstart's repository is valid: exit 0", async () => {
  const { code, out, err } = await validate(EXAMPLE, "--strict");
  expect([code, err]).toEqual([0, ""]);
  expect(out).toMatch(/^valid: \d+ objects, 0 errors, 0 warnings\n$/);
});

test("an invalid folder: exit 1, each issue with file, line, code, hint, the source line and a caret", async () => {
  await write("fleets/a.yaml", FLEET);
  const { code, out } = await validate(folder);
  expect(code).toBe(1);
  expect(out.split("\n").slice(0, 8)).toEqual([
    join(folder, "fleets/a.yaml"),
    "",
    "  6:3  error unknown_field: blueprnt is not a known field",
    "    6 |   blueprnt: base",
    "      |   ^^^^^^^^",
    "     = in Fleet/a: spec.blueprnt",
    "     = hint: did you mean blueprint?",
    "     = to do: Remove the field or correct its spelling.",
  ]);
  expect(out).toContain("invalid: 1 error, 0 warnings in 1 file\n");
});

test("json is one document with every issue; the program's own --json asks for it too", async () => {
  await write("fleets/a.yaml", FLEET);
  const found = await json(folder);
  expect(found).toMatchObject({ valid: false, issues: [{ code: "unknown_field", file: "fleets/a.yaml", line: 6 }] });
  expect(JSON.parse((await myrctl(["--json", "validate", folder])).out)).toEqual(found);
});

test("github is one annotation per issue, its file relative to the root of the Git repository", async () => {
  await mkdir(join(folder, ".git"));
  await write("deploy/fleets/a.yaml", FLEET);
  const { out } = await validate(join(folder, "deploy"), "--format", "github");
  expect(out.split("\n")[0]).toBe(
    "::error file=deploy/fleets/a.yaml,line=6,col=3,title=unknown_field::spec.blueprnt: blueprnt is not a known field (did you mean blueprint?)",
  );
});

test("--path names gitops.path: only what lies there is read, issues name the file in the repository", async () => {
  await write("broken.yaml", "a: [");
  await write("deploy/fleets/a.yaml", FLEET);
  expect((await json(folder, "--path", "deploy/")).issues).toMatchObject([{ file: "deploy/fleets/a.yaml" }]);
  expect((await validate(folder, "--path", "deploy")).out).toContain(`${folder}/deploy/fleets/a.yaml\n`);
});

test("--output writes the document to a file and the text to standard output", async () => {
  await write("fleets/a.yaml", FLEET);
  const output = join(folder, "report.json");
  const { code, out } = await validate(folder, "--format", "gitlab", "--output", output);
  expect([code, out]).toEqual([1, (await validate(folder)).out]);
  expect(JSON.parse(await readFile(output, "utf8"))).toMatchObject([{ check_name: "unknown_field" }]);
});

test("warnings do not block, unless they are asked to", async () => {
  await write("f.yaml", VALID);
  await write("b.yaml", PASSWORD);
  expect((await validate(folder)).code).toBe(0);
  const strict = await validate(folder, "--strict");
  expect(strict.code).toBe(1);
  expect(strict.out).toContain("(--strict: warnings are errors)");
});

test("a component that the collector does not have is invalid_config at its place, with --components", async () => {
  await write("f.yaml", VALID);
  await write("s.yaml", "");
  await write(
    "b.yaml",
    "apiVersion: myriarch.dev/v1alpha1\nkind: Blueprint\nmetadata: {name: base}\nspec:\n  config:\n    receivers: {otlpp: {}}\n    exporters: {debug: {}}\n    service: {pipelines: {logs: {receivers: [otlpp], exporters: [debug]}}}\n",
  );
  await write("samples/agents/a.yaml", "name: a\n");
  const list = join(folder, "components.txt");
  await writeFile(list, "receivers:\n  - name: otlp\nexporters:\n  - name: debug\n");
  expect((await validate(folder)).code).toBe(0);
  const { issues } = await json(folder, "--components", list);
  expect(issues).toMatchObject([{ code: "invalid_config", file: "b.yaml", line: 6, hint: "did you mean otlp?" }]);
  await writeFile(list, "just text");
  const { code, out, err } = await validate(folder, "--components", list);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain("is no list of components");
});

describe("could not run: exit 2, nothing on standard output, and a sentence that says what to do", () => {
  test.each([
    ["a folder that is not there", ["nowhere"], "there is no folder"],
    ["a file", ["x.txt"], "is no folder"],
    ["a folder without YAML", ["empty"], "myrctl init"],
    ["a path that is not there", [".", "--path", "nowhere"], "there is no folder"],
    ["a path that leads out", [".", "--path", "../x"], "--path must not contain"],
    ["an unknown format", [".", "--format", "xml"], "Allowed choices are text, json, github, gitlab, sarif, junit"],
    ["a ref without a remote", [".", "--ref", "main"], "--ref belongs to --git"],
    ["a folder and a remote", [".", "--git", "/x"], "not both"],
    ["a list of components that is not there", [".", "--components", "nowhere.txt"], "nowhere.txt"],
    ["a URL that runs a program", ["--git", "ext::sh -c true"], "remote helper"],
    ["a URL that is an option", ["--git=--upload-pack=x"], "must not begin with -"],
    ["a remote that is not there", ["--git", "/nowhere/x.git"], "Check the URL"],
    ["a token file that is not there", ["--git", "/x", "--git-token-file", "nowhere"], "there is no file nowhere"],
  ])("%s", async (_, args, says) => {
    await write("x.txt", "x");
    await mkdir(join(folder, "empty"));
    const [first = "", ...rest] = args;
    const { code, out, err } = await validate(first.startsWith("-") ? first : join(folder, first), ...rest);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(says);
    expect(err).not.toMatch(/^\s+at /m);
  });
});

test("links are refused and not followed; control characters never reach the terminal", async () => {
  await write("a.yaml", "a: 1\n\u001b[31m: 2\n\u202e: 3\n");
  await symlink("/etc/passwd", join(folder, "b.yaml"));
  const { code, out } = await validate(folder);
  expect(code).toBe(1);
  expect(out).toContain("error not_regular_file: a symbolic link");
  expect(out).not.toContain("root:");
  for (const char of ["\u001b", "\u202e"]) expect(out).not.toContain(char);
});

test.each<[NodeJS.ProcessEnv, boolean, boolean]>([
  [{}, true, true],
  [{}, false, false],
  [{ NO_COLOR: "1" }, true, false],
  [{ NO_COLOR: "" }, true, true],
  [{ TERM: "dumb" }, true, false],
  [{ FORCE_COLOR: "1" }, false, true],
  [{ FORCE_COLOR: "1", NO_COLOR: "1" }, false, true],
  [{ FORCE_COLOR: "0" }, true, false],
])("colours with %j on a terminal (%s): %s", (env, isTerminal, isColoured) => {
  expect(paintFor(env, isTerminal)("red", "x") !== "x").toBe(isColoured);
});

test("a terminal gets colours in the text, and none in a document", async () => {
  await write("fleets/a.yaml", FLEET);
  expect((await myrctl(["validate", folder], {}, true)).out).toContain("\u001b[31merror");
  expect((await myrctl(["validate", folder, "--format", "junit"], { FORCE_COLOR: "1" }, true)).out).not.toContain(
    "\u001b",
  );
});

describe("--git", () => {
  let repository: GitRepository;
  beforeEach(async () => {
    repository = await createGitRepository();
    vi.stubEnv("TMPDIR", folder);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await repository.remove();
  });
  const leftovers = (): Promise<string[]> => readdir(folder);

  test("reads the remote's HEAD, a branch, a tag, a commit, a shortened commit; and leaves nothing behind", async () => {
    const first = await repository.push("one", { "deploy/a.yaml": FLEET, "deploy/b.yaml": PASSWORD });
    await repository.git("tag", "-a", "v1", "-m", "one");
    await repository.git("push", "-q", "origin", "v1", "HEAD:lb-auto-voc");
    const second = await repository.push("two", { "deploy/a.yaml": VALID });
    const seen = async (...args: string[]): Promise<unknown> => {
      const { valid, commit } = await json("--git", repository.url, "--path", "deploy", ...args);
      return [valid, commit];
    };
    expect(await seen()).toEqual([true, second]);
    expect(await seen("--ref", "main")).toEqual([true, second]);
    for (const ref of ["lb-auto-voc", "v1", first, first.slice(0, 8), "refs/tags/v1"]) {
      expect([ref, await seen("--ref", ref)]).toEqual([ref, [false, first]]);
    }
    expect(await leftovers()).toEqual([]);
  });

  test("shows the source line and the path in the repository, as a folder does", async () => {
    await repository.push("one", { "fleets/a.yaml": FLEET, "b.yaml": PASSWORD });
    const { code, out } = await validate("--git", repository.bare);
    expect(code).toBe(1);
    expect(out).toContain("fleets/a.yaml\n\n  6:3  error unknown_field");
    expect(out).toContain("    6 |   blueprnt: base\n      |   ^^^^^^^^");
  });

  test.each([
    ["an unknown ref", ["--ref", "nope"], "no branch, tag or commit nope"],
    ["an unknown commit", ["--ref", "1".repeat(40)], "--ref names a branch"],
    ["a ref that is an option", ["--ref=--upload-pack=touch /tmp/x"], "must not begin with -"],
    ["a path that is not there", ["--path", "nowhere"], "--path names the folder"],
  ])("%s: exit 2, and nothing is left behind", async (_, args, says) => {
    await repository.push("one", { "a.yaml": VALID });
    const { code, out, err } = await validate("--git", repository.url, ...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(says);
    expect(await leftovers()).toEqual([]);
  });

  test("the token of --git-token-file goes to the remote, and is never said", async () => {
    const headers: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      headers.push(request.headers.authorization);
      response.writeHead(403).end();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    try {
      const file = join(repository.folder, "token");
      await writeFile(file, "planted-token\n");
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`;
      const { code, out, err } = await validate("--git", url, "--git-token-file", file);
      expect(headers).toEqual([`Basic ${Buffer.from("x-access-token:planted-token").toString("base64")}`]);
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain("--git-token-file FILE");
      expect(err).not.toContain("planted-token");
    } finally {
      server.close();
    }
  });

  test("an empty repository is no valid one", async () => {
    const { code, err } = await validate("--git", repository.url);
    expect(code).toBe(2);
    expect(err).toContain("no branch, tag or commit HEAD");
  });

  test.skipIf(process.getuid?.() !== 0)(
    "the owner of a local repository does not matter: only objects are read",
    async () => {
      await repository.push("one", { "a.yaml": FLEET });
      await chown(repository.work, 12_345, 12_345);
      const { code, err } = await myrctl(["diff", "HEAD..HEAD", repository.work]);
      expect(err).not.toContain("dubious");
      expect(code).toBe(1);
    },
  );
});
