/** The quickstart's Git remote: a local bare repository filled from `examples/quickstart`, and a clone to commit from. */
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parseDocument } from "yaml";

const run = promisify(execFile);
const EXAMPLE = fileURLToPath(new URL("../../../examples/quickstart/", import.meta.url));

export type DemoRepository = {
  /** What the server reads. */
  url: string;
  /** The clone: edited and pushed like anybody's. */
  work: string;
  head(): Promise<string>;
  /** Edits the clone, commits and pushes; returns the new commit. */
  commit(message: string, edit: (work: string) => Promise<void>): Promise<string>;
  /** `git revert` of the newest commits, newest first, as one push; returns the new head. */
  revert(count: number): Promise<string>;
};

/** Opens the repository below `folder`; made from the example at the first time, left as it is afterwards. */
export async function openDemoRepository(folder: string): Promise<DemoRepository> {
  const bare = join(folder, "origin.git");
  const work = join(folder, "work");
  const git = async (...args: string[]): Promise<string> => {
    const { stdout } = await run("git", ["-C", work, ...IDENTITY, ...args], { env: gitEnv() });
    return stdout.trim();
  };
  if (!(await exists(join(folder, "ready")))) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await run("git", ["init", "-q", "--bare", "-b", "main", bare], { env: gitEnv() });
    await cp(EXAMPLE, work, { recursive: true });
    await run("git", ["init", "-q", "-b", "main", work], { env: gitEnv() });
    await git("remote", "add", "origin", bare);
    // The first revision has no fleet: hosts connect, belong to nobody, and are left alone. Then the fleet is committed.
    await git("add", "-A");
    await git("rm", "-q", "-r", "--cached", "fleets");
    await git("commit", "-q", "-m", "Blueprint, policies, executor and inventory");
    await git("push", "-q", "origin", "main");
    await writeFile(join(folder, "ready"), "");
  }
  const head = (): Promise<string> => git("rev-parse", "HEAD");
  return {
    url: `file://${bare}`,
    work,
    head,
    commit: async (message, edit) => {
      await edit(work);
      await git("add", "-A");
      await git("commit", "-q", "-m", message);
      await git("push", "-q", "origin", "main");
      return head();
    },
    revert: async (count) => {
      await git("revert", "--no-edit", `HEAD~${count}..HEAD`);
      await git("push", "-q", "origin", "main");
      return head();
    },
  };
}

/** Sets one value of a YAML file (undefined: removes it) and keeps its comments. */
export async function editYaml(file: string, path: readonly (string | number)[], value: unknown): Promise<void> {
  const document = parseDocument(await readFile(file, "utf8"));
  if (value === undefined) document.deleteIn(path);
  else document.setIn(path, value);
  await writeFile(file, document.toString());
}

const IDENTITY = [
  "-c",
  "user.name=Demo Operator",
  "-c",
  "user.email=operator@example.com",
  "-c",
  "commit.gpgsign=false",
];
/** Nothing of the user's own Git configuration: the demo must behave the same everywhere. */
const gitEnv = (): NodeJS.ProcessEnv => ({
  PATH: process.env["PATH"],
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  LC_ALL: "C",
});

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
