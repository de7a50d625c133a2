import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DEFAULT_LIMITS, type RepositoryFile } from "../../domain/gitops/repository-files.ts";
import { DEFAULT_BUDGET, runValidation } from "./run-validation.ts";
import { readFolder } from "./read-folder.ts";

const EXAMPLE = fileURLToPath(new URL("../../../examples/quickstart/", import.meta.url));
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
