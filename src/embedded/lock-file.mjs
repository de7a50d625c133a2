/**
 * One owner of a file name among processes of one machine, with nothing to clean up after a kill -9: the file names the
 * owner by process id and start time, and a dead owner's file is taken over. Plain JavaScript without dependencies,
 * because the launcher needs it before anything is installed (and Node 20 runs it).
 */
import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, rmdirSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Longer than anyone can hold the right to remove a dead owner's file (microseconds), unless killed right then. */
const STEAL_MS = 5_000;

/** When the process started, or undefined when it is gone or a zombie. Same id and same time is the same process. */
export function processStart(pid) {
  try {
    if (process.platform !== "linux") {
      const out = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8", env: { LC_ALL: "C" } });
      return out.trim() || undefined;
    }
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ESRCH" || error.status === 1) return undefined;
    throw error;
  }
}

/**
 * Takes the lock, or says who holds it.
 * @returns {{ held: true, release: () => void } | { held: false, owner: { pid: number, what: string } }}
 */
export function tryLock(file, what) {
  const mine = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  writeFileSync(mine, JSON.stringify({ pid: process.pid, started: processStart(process.pid), what }), { mode: 0o644 });
  try {
    for (;;) {
      // A link appears with its content at once; `open(…, "wx")` would show an empty file in between.
      if (attempt(() => linkSync(mine, file), "EEXIST")) return { held: true, release: () => release(file) };
      const owner = readOwner(file);
      if (owner === undefined) continue;
      if (processStart(owner.pid) === owner.started) return { held: false, owner };
      removeDead(file);
    }
  } finally {
    unlinkSync(mine);
  }
}

/** Waits until the lock is ours. `waiting` is called once with the owner if somebody else holds it. */
export async function lock(file, what, waiting = () => {}) {
  for (let told = false; ; told = true) {
    const got = tryLock(file, what);
    if (got.held) return got;
    if (!told) waiting(got.owner);
    await delay(200); // other processes give no event; a file watch would miss an owner that dies
  }
}

/** Only who made the `.steal` folder may remove, and only what it then still finds dead. */
function removeDead(file) {
  const right = `${file}.steal`;
  if (!attempt(() => mkdirSync(right), "EEXIST")) {
    const since = statSync(right, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Date.now() - since > STEAL_MS) attempt(() => rmdirSync(right), "ENOENT");
    return;
  }
  try {
    const owner = readOwner(file);
    if (owner !== undefined && processStart(owner.pid) !== owner.started) unlinkSync(file);
  } finally {
    rmdirSync(right);
  }
}

function release(file) {
  const owner = readOwner(file);
  if (owner?.pid === process.pid) unlinkSync(file);
}

function readOwner(file) {
  let text;
  if (!attempt(() => (text = readFileSync(file, "utf8")), "ENOENT")) return undefined;
  try {
    const { pid, started, what } = JSON.parse(text);
    return { pid, started, what };
  } catch {
    return { pid: 0, started: "unreadable", what: "unreadable" }; // damaged by a power loss: nobody owns it
  }
}

function attempt(work, code) {
  try {
    work();
    return true;
  } catch (error) {
    if (error.code === code) return false;
    throw error;
  }
}
