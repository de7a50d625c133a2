#!/usr/bin/env node
/**
 * Starts any program of this repository on the Node that the repository pins, from any newer Node and with nothing
 * installed: `node scripts/launch.mjs <program> [argument…]`. Keeps the caller's working directory. No dependencies.
 *
 * It stays as a parent (Node 20 cannot replace itself by another program), in the same process group: Ctrl-C on the
 * terminal reaches both, so it ignores that one, passes TERM and HUP on, and ends as the program ended.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureInstalled, InstallError } from "./install.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const OTHER_PROGRAMS = {
  quickstart: "src/embedded/quickstart.ts",
  test: "scripts/test.ts",
  check: "scripts/check.ts",
  bench: "bench/main.ts",
  "build-updater": "scripts/build-executable.ts",
  chaos: "chaos/main.ts",
  conformance: "scripts/conformance.ts",
};

/** Runs the program to its end and ends this process the same way: its exit code, or its signal. */
export async function launch(program, args) {
  if (Number(process.versions.node.split(".")[0]) < 20)
    return fail(`Node ${process.version} is too old: Node 20 or newer is needed`);
  const file = program === undefined ? undefined : fileOf(program);
  if (file === undefined || !existsSync(file)) return fail(usage(program));
  try {
    await ensureInstalled(ROOT);
  } catch (error) {
    if (error instanceof InstallError) return fail(error.message);
    throw error;
  }
  run(file, args);
}

function fileOf(program) {
  if (!/^[\w-]+$/.test(program)) return undefined;
  return join(ROOT, OTHER_PROGRAMS[program] ?? join("src", "bin", `${program}.ts`));
}

function usage(program) {
  const binFolder = join(ROOT, "src", "bin");
  const bins = existsSync(binFolder) ? readdirSync(binFolder).filter((name) => /^[\w-]+\.ts$/.test(name)) : [];
  const names = [...Object.keys(OTHER_PROGRAMS), ...bins.map((name) => name.slice(0, -3))].join(", ");
  return `${program === undefined ? "which program?" : `there is no program "${program}".`} One of: ${names}`;
}

function run(file, args) {
  const bin = join(ROOT, "node_modules", ".bin");
  const child = spawn(join(bin, "node"), [file, ...args], {
    stdio: "inherit",
    env: {
      ...process.env,
      PATH: `${bin}${delimiter}${process.env.PATH ?? ""}`,
      MYRIARCH_LAUNCHER_PID: String(process.pid),
    },
  });
  const handlers = { SIGINT: () => {}, SIGTERM: () => child.kill("SIGTERM") };
  if (!hangupIsIgnored()) handlers.SIGHUP = () => child.kill("SIGHUP");
  for (const [signal, handler] of Object.entries(handlers)) process.on(signal, handler);
  child.once("error", (error) => fail(`cannot start ${file}: ${error.message}`));
  child.once("exit", (code, signal) => {
    for (const [name, handler] of Object.entries(handlers)) process.off(name, handler);
    if (signal === null) process.exitCode = code;
    else process.kill(process.pid, signal);
  });
}

/** Under `nohup` the signal is ignored from the start; a handler of ours would undo that. */
function hangupIsIgnored() {
  if (process.platform !== "linux") return false;
  const mask = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
  return (BigInt(`0x${mask}`) & 1n) === 1n;
}

function fail(message) {
  process.stderr.write(`myriarch: ${message}\n`);
  process.exitCode = 1;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  await launch(process.argv[2], process.argv.slice(3));
