import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DEFAULT_LIMITS, type RepositoryFile } from "../../domain/gitops/repository-files.ts";
import { validateRevision } from "../../domain/gitops/validate.ts";
import { createJudge, DEFAULT_BUDGET, runValidation, type Judge, type JudgeLimits } from "./run-validation.ts";
import { readFolder } from "./read-folder.ts";

const EXAMPLE = fileURLToPath(new URL("../../../examples/quickstart/", import.meta.url));
// threads start slowly on a machine that is busy with everything else
vi.setConfig({ testTimeout: 60_000 });

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-read-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const write = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
};
const file = (path: string, text: string): RepositoryFile => {
  const bytes = new TextEncoder().encode(text);
  return { path, mode: "100644", size: bytes.length, bytes };
};

test("the quickstart's repository is valid, without warnings", async () => {
  const verdict = await runValidation(await readFolder(EXAMPLE, DEFAULT_LIMITS), DEFAULT_LIMITS);
  expect(verdict.issues).toEqual([]);
  expect(verdict.objects.map(({ kind }) => kind)).toContain("Fleet");
});

test("a folder is read without following links, Git's own folder left out", async () => {
  await write("fleets/a.yaml", "a: 1\n");
  await write(".git/x.yaml", "x");
  await write(".ci/y.yaml", "y");
  await symlink("/etc", join(folder, "link"));
  const files = await readFolder(folder, DEFAULT_LIMITS);
  const listed = files
    .map(({ path, mode, bytes }) => `${mode} ${path} ${bytes === undefined ? "" : "read"}`)
    .toSorted();
  expect(listed).toEqual(["100644 .ci/y.yaml ", "100644 fleets/a.yaml read", "120000 link "]);
});

test("a file that takes longer than its budget is an issue that names it, and the thread is gone", async () => {
  const slow = file("fleets/slow.yaml", `a: [${"[1, 2, 3], ".repeat(200_000)}]\n`);
  const verdict = await runValidation([slow], DEFAULT_LIMITS, { revisionMs: 60_000, fileMs: 20 });
  expect(verdict).toMatchObject({ issues: [{ code: "time_budget_exceeded", file: "fleets/slow.yaml" }], objects: [] });
});

test("a revision that takes longer than its budget is an issue, too", async () => {
  const slow = file("fleets/slow.yaml", `a: [${"[1, 2, 3], ".repeat(200_000)}]\n`);
  const verdict = await runValidation([slow], DEFAULT_LIMITS, { revisionMs: 20, fileMs: 60_000 });
  expect(verdict.issues).toMatchObject([{ code: "time_budget_exceeded" }]);
});

test("cancelling ends the thread and says so", async () => {
  const abort = new AbortController();
  const slow = file("fleets/slow.yaml", `a: [${"[1, 2, 3], ".repeat(200_000)}]\n`);
  const running = runValidation([slow], DEFAULT_LIMITS, DEFAULT_BUDGET, abort.signal);
  abort.abort(new Error("cancelled"));
  await expect(running).rejects.toThrow("cancelled");
});

const BIG = `# ${"x".repeat(300_000)}\n`;
const object = (kind: string, name: string, spec: string): string =>
  `apiVersion: myriarch.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
const CONFIG =
  "{receivers: {otlp: {}}, exporters: {debug: {}}, service: {pipelines: {metrics: {receivers: [otlp], exporters: [debug]}}}}";
const blueprint = (text = ""): RepositoryFile =>
  file("blueprints/b.yaml", text + object("Blueprint", "b", `{config: ${CONFIG}}`));
const fleet = (name: string, target = "0.162.0"): RepositoryFile =>
  file(
    `fleets/${name}.yaml`,
    object("Fleet", name, `{selector: {}, priority: 1,\n blueprint: b, version: {target: "${target}"}}`),
  );
const sample = file("samples/agents/s.yaml", "name: s\n");
/** Enough bytes that they are read in threads of their own. */
const large = (): RepositoryFile[] => [blueprint(BIG), fleet("one"), fleet("two"), file("x.yaml", "a: [\n"), sample];
const SLOW = `a: [${"[1, 2, 3], ".repeat(200_000)}]\n`;

async function judging<T>(limits: Partial<JudgeLimits>, use: (judge: Judge) => Promise<T>): Promise<T> {
  const judge = createJudge({ ...DEFAULT_BUDGET, ...limits });
  try {
    return await use(judge);
  } finally {
    await judge.close();
  }
}

test.each([1, 2, 3])("the verdict of %i reading threads is the one of none, also when asked again", async (threads) => {
  const files = large().map((it): RepositoryFile => ({ ...it, oid: `oid of ${it.path}` }));
  const expected = validateRevision(files, DEFAULT_LIMITS);
  expect(expected.issues.map(({ code }) => code)).toContain("ambiguous_fleet");
  await judging({ threads }, async (judge) => {
    expect(await judge.validate(files, DEFAULT_LIMITS)).toEqual(expected);
    expect(await judge.validate(files.toReversed(), DEFAULT_LIMITS)).toEqual(expected);
  });
});

test("what was read is kept by blob id: a file with another id is read, with the same id it is not", async () => {
  await judging({}, async (judge) => {
    const versionOf = async (oid: string, target: string): Promise<unknown> => {
      const changed: RepositoryFile = { ...fleet("one", target), oid };
      const { objects } = await judge.validate([{ ...blueprint(), oid: "b" }, changed, sample], DEFAULT_LIMITS);
      return objects.flatMap(({ kind, spec }) => (kind === "Fleet" ? [spec.version?.target] : []))[0];
    };
    expect(await versionOf("1", "0.162.0")).toBe("0.162.0");
    // equal ids are equal bytes: that these differ only shows that nobody looked
    expect(await versionOf("1", "0.163.0")).toBe("0.162.0");
    expect(await versionOf("2", "0.163.0")).toBe("0.163.0");
    expect(await versionOf("1", "0.164.0")).toBe("0.164.0");
  });
});

test("files without a blob id are read every time", async () => {
  await judging({}, async (judge) => {
    expect((await judge.validate([blueprint(), fleet("one"), sample], DEFAULT_LIMITS)).issues).toEqual([]);
    const broken = await judge.validate([blueprint(), file("fleets/one.yaml", "a: [\n"), sample], DEFAULT_LIMITS);
    expect(broken.issues).toMatchObject([{ code: "invalid_yaml", file: "fleets/one.yaml" }]);
  });
});

test("of many files the slow ones are issues that name them, and all others are judged as ever", async () => {
  const files = [...large(), file("slow/a.yaml", SLOW), file("slow/b.yaml", SLOW)];
  const verdict = await judging({ threads: 2, fileMs: 800 }, (judge) => judge.validate(files, DEFAULT_LIMITS));
  const expected = validateRevision(large(), DEFAULT_LIMITS);
  const slow = verdict.issues.filter(({ file: path }) => path.startsWith("slow/"));
  expect(slow).toMatchObject([
    { code: "time_budget_exceeded", file: "slow/a.yaml" },
    { code: "time_budget_exceeded", file: "slow/b.yaml" },
  ]);
  expect(verdict.issues.filter((issue) => !slow.includes(issue))).toEqual(expected.issues);
});

test("a file that needs more memory than a thread has is an issue, the process stays", async () => {
  const files = [...large(), file("slow/a.yaml", SLOW)];
  const verdict = await judging({ threads: 2, heapMb: 40 }, (judge) => judge.validate(files, DEFAULT_LIMITS));
  expect(verdict.issues).toContainEqual(
    expect.objectContaining({
      code: "time_budget_exceeded",
      file: "slow/a.yaml",
      message: expect.stringMatching(/MiB/),
    }),
  );
});

test("a judge that was killed judges the next revision, and what a limit cut off is tried again", async () => {
  const slow: RepositoryFile = { ...file("slow/a.yaml", SLOW), oid: "s" };
  await judging({ revisionMs: 300 }, async (judge) => {
    const cut = await judge.validate([slow], DEFAULT_LIMITS);
    expect(cut.issues).toMatchObject([{ code: "time_budget_exceeded", file: "" }]);
  });
  await judging({}, async (judge) => {
    const abort = new AbortController();
    const running = judge.validate([slow], DEFAULT_LIMITS, { signal: abort.signal });
    const next = judge.validate([blueprint(), fleet("one"), sample], DEFAULT_LIMITS);
    abort.abort(new Error("cancelled"));
    await expect(running).rejects.toThrow("cancelled");
    expect((await next).issues).toEqual([]);
  });
});

test("options reach the thread", async () => {
  const components = { receivers: ["otlp"], processors: [], exporters: [], connectors: [], extensions: [] };
  const files = [blueprint(), fleet("one"), sample];
  const verdict = await runValidation(files, DEFAULT_LIMITS, DEFAULT_BUDGET, undefined, { components });
  expect(verdict.issues).toMatchObject([{ code: "invalid_config", path: "spec.config.exporters.debug" }]);
});

test("a defect of the caller is no verdict", async () => {
  const withoutBytes: RepositoryFile = { path: "a.yaml", mode: "100644", size: 1 };
  await expect(runValidation([withoutBytes], DEFAULT_LIMITS)).rejects.toThrow("the content of a.yaml is missing");
});
