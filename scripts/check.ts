/**
 * The gate: types, lint, format, arrows, dead code, unit tests, each with its time. Runs all of them, shows what the
 * failed ones said, and fails naming the first. The commands are those of package.json.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { recordCounts } from "./counts.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };
const STEPS: readonly { name: string; command: string | undefined }[] = [
  { name: "types", command: scripts["types"] },
  { name: "lint", command: scripts["lint"] },
  { name: "format", command: scripts["format:check"] },
  { name: "arrows", command: scripts["arrows"] },
  { name: "dead code", command: scripts["dead"] },
  // `--no-units`: for whoever runs all tests next and so runs them anyway
  ...(process.argv.includes("--no-units") ? [] : [{ name: "unit tests", command: "vitest run --project unit" }]),
];

const failed: string[] = [];
for (const { name, command } of STEPS) {
  if (command === undefined) throw new Error(`package.json has no script for ${name}`);
  const started = performance.now();
  const { passed, output } = await runStep(command);
  if (!passed) failed.push(name);
  console.log(`${passed ? "ok    " : "FAILED"} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  if (!passed) console.log(output);
}
recordCounts({ passed: STEPS.length - failed.length, failed: failed.length, skipped: 0 });
if (failed.length > 0) {
  console.log(`check failed: ${failed[0]}${failed.length > 1 ? ` (and ${failed.slice(1).join(", ")})` : ""}`);
  process.exitCode = 1;
}

function runStep(command: string): Promise<{ passed: boolean; output: string }> {
  return new Promise((resolve, reject) => {
    // The launcher put the pinned tools first on PATH.
    const child = spawn("/bin/sh", ["-c", command], { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    const output: Buffer[] = [];
    child.stdout.on("data", (part: Buffer) => output.push(part));
    child.stderr.on("data", (part: Buffer) => output.push(part));
    child.once("error", reject);
    child.once("close", (code) => resolve({ passed: code === 0, output: Buffer.concat(output).toString("utf8") }));
  });
}
