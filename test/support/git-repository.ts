/** A real Git remote for tests: a bare repository on disk and a clone to commit from, without the account's own settings. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export type GitRepository = {
  folder: string;
  /** What a server is configured with. */
  url: string;
  bare: string;
  work: string;
  git(...args: string[]): Promise<string>;
  write(files: Record<string, string>): Promise<void>;
  /** Writes, commits everything and pushes; returns the commit. */
  push(message: string, files?: Record<string, string>): Promise<string>;
  remove(): Promise<void>;
};

const IDENTITY = ["-c", "user.name=Kim Tester", "-c", "user.email=kim@example.com", "-c", "commit.gpgsign=false"];

export async function createGitRepository(branch = "main"): Promise<GitRepository> {
  const folder = await mkdtemp(join(tmpdir(), "myriarch-git-"));
  const [bare, work] = [join(folder, "origin.git"), join(folder, "work")];
  const env = { PATH: process.env["PATH"], HOME: folder, GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
  const at = async (cwd: string, ...args: string[]): Promise<string> =>
    (await run("git", [...IDENTITY, ...args], { cwd, env })).stdout.trim();
  await at(folder, "init", "-q", "--bare", "-b", branch, bare);
  await at(folder, "init", "-q", "-b", branch, work);
  await at(work, "remote", "add", "origin", bare);
  const git = (...args: string[]): Promise<string> => at(work, ...args);
  const write = async (files: Record<string, string>): Promise<void> => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(work, path)), { recursive: true });
      await writeFile(join(work, path), text);
    }
  };
  return {
    folder,
    bare,
    work,
    url: `file://${bare}`,
    git,
    write,
    push: async (message, files = {}) => {
      await write(files);
      await git("add", "-A");
      await git("commit", "-q", "--allow-empty", "-m", message);
      await git("push", "-q", "origin", `HEAD:${branch}`);
      return git("rev-parse", "HEAD");
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The text of an object; `spec` is YAML in one line. */
export const object = (kind: string, name: string, spec: string): string =>
  `apiVersion: myriarch.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
/** The least that a collector runs, for the `config` of a Blueprint. */
export const CONFIG =
  "{receivers: {otlp: {}}, exporters: {debug: {}}, service: {pipelines: {metrics: {receivers: [otlp], exporters: [debug]}}}}";
