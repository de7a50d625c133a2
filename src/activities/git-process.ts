/**
 * Runs the git commands that talk to a remote, each in a process group of its own, so that its time limit and the end of an
 * activity also end its helpers (ssh, git-remote-https): simple-git interrupts git alone, and an ssh that waits for a silent
 * server would stay. The group also ends when this process is killed: its guard reads a pipe that then closes.
 */
import { spawn, type ChildProcess } from "node:child_process";

export type GitRun = {
  cwd: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
};
export class GitFailed extends Error {
  override readonly name = "GitFailed";
}

const MAX_TEXT = 4_000;
/** Arguments stay arguments. What runs in the background reads the guard's pipe by a number of its own: its input is empty. */
const GUARDED = `exec 3<&0
(exec 2>/dev/null; cat <&3 >/dev/null; kill -9 0) &
exec git "$@" 3<&- </dev/null`;

/** Resolves when git ends with 0; its group is gone by then in every case. Rejects with GitFailed. */
export async function runGit(args: readonly string[], { cwd, env, timeoutMs, signal }: GitRun): Promise<void> {
  const child = spawn("/bin/sh", ["-c", GUARDED, "git", ...args], {
    cwd,
    env,
    detached: true,
    stdio: ["pipe", "ignore", "pipe"],
  });
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(-MAX_TEXT);
  });
  let ended: string | undefined;
  const end = (why: string): void => {
    ended ??= why;
    killGroup(child);
  };
  const timer = setTimeout(() => end(`no answer within ${Math.round(timeoutMs / 1000)} s`), timeoutMs);
  const abort = (): void => end("cancelled");
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted === true) abort();
  try {
    const code = await exitOf(child);
    if (ended !== undefined) throw new GitFailed(`git ${args.find(isCommand) ?? ""}: ${ended}`);
    if (code === NOT_FOUND) throw new GitFailed("git cannot be started: there is no git on the PATH");
    if (code !== 0) throw new GitFailed(summary(text) || `git ended with ${code}`);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    // a helper that outlived git, or a grandchild that git forgot
    killGroup(child);
  }
}

/** Of the shell, as POSIX says. */
const NOT_FOUND = 127;
const isCommand = (arg: string): boolean => /^(?:fetch|init|gc)$/.test(arg);

/** "close", not "exit": until the pipe is closed some helper may still hold it. After a kill nobody does. */
const exitOf = (child: ChildProcess): Promise<number | string | null> =>
  new Promise((resolve, reject) => {
    child.once("error", (error) => reject(new GitFailed(`git cannot be started: ${error.message}`, { cause: error })));
    child.once("close", (code, signal) => resolve(code ?? signal));
  });

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** What git and its helpers said, without progress and what says nothing: ssh names the cause, git only that there is one. */
function summary(text: string): string {
  const lines = text
    .split(/[\r\n]+/)
    .map((line) => line.replaceAll(/^@+|@+$/g, "").trim())
    .filter((line) => line !== "" && !SAYS_NOTHING.test(line));
  return lines.slice(0, MAX_LINES).join("; ").slice(0, MAX_SUMMARY);
}
const MAX_LINES = 8;
const MAX_SUMMARY = 500;
const SAYS_NOTHING =
  /^(?:hint:|warning: ?$|remote: (?:Enumerating|Counting|Compressing|Total)|Please make sure you have the correct|and the repository exists\.|IT IS POSSIBLE THAT SOMEONE|Someone could be eavesdropping)/;
