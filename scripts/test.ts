/**
 * Runs the test projects, each named by what must be running (README, "Tests"), and ends with one counted line.
 * `node scripts/launch.mjs test [project…] [--optional] [-- argument of vitest…]`; without a project: every one that needs
 * no optional tool. `--optional` adds those whose tool is on this machine and says which are left out.
 */
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  addCounts,
  countLine,
  countReport,
  describeFailures,
  NONE,
  recordCounts,
  type Counts,
  type Report,
} from "./counts.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DEFAULT = ["unit", "workflow", "integration", "e2e"];
/** Programs of which one makes the project runnable. */
const OPTIONAL: Readonly<Record<string, readonly string[]>> = {
  interop: ["go"],
  browser: ["chromium", "chromium-browser", "google-chrome"],
};

const [own, forVitest] = splitAtDashes(process.argv.slice(2));
const wanted = own.filter((argument) => !argument.startsWith("--"));
const unknown = wanted.filter((name) => !DEFAULT.includes(name) && !(name in OPTIONAL));
if (unknown.length > 0) {
  console.error(`no test project ${unknown.join(", ")}. One of: ${[...DEFAULT, ...Object.keys(OPTIONAL)].join(", ")}`);
  process.exit(2);
}
const projects = wanted.length > 0 ? wanted : [...DEFAULT, ...(own.includes("--optional") ? optionalHere() : [])];

let sum: Counts = NONE;
const lines: string[] = [];
const failures: string[] = [];
for (const project of projects) {
  const started = performance.now();
  const counts = await runProject(project);
  sum = addCounts(sum, counts);
  lines.push(`${project.padEnd(12)} ${countLine(counts)} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
}
recordCounts(sum);
if (failures.length > 0) console.log(`\n${failures.join("\n")}`);
console.log(`\n${lines.join("\n")}\n${countLine(sum)}`);
process.exitCode = sum.failed > 0 ? 1 : 0;

async function runProject(project: string): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), "myriarch-report-"));
  const report = join(folder, "report.json");
  try {
    const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const child = spawn(
      process.execPath,
      [vitest, "run", "--project", project, "--passWithNoTests", ...reporters, ...forVitest],
      { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] },
    );
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", resolve);
    });
    const text = await readFile(report, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    if (text === undefined) return exitCode === 0 ? NONE : { ...NONE, failed: 1 };
    const result = JSON.parse(text) as Report;
    failures.push(...describeFailures(result, ROOT));
    return countReport(result, exitCode);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function optionalHere(): string[] {
  return Object.entries(OPTIONAL).flatMap(([project, programs]) => {
    if (programs.some(isOnPath)) return [project];
    console.log(`${project}: left out, there is no ${programs.join(" or ")} on this machine`);
    return [];
  });
}

function isOnPath(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false; // the usual answer for most folders
    }
  });
}

function splitAtDashes(all: string[]): [string[], string[]] {
  const at = all.indexOf("--");
  return at < 0 ? [all, []] : [all.slice(0, at), all.slice(at + 1)];
}
