/**
 * Turns src/protocol/opamp.proto into static code (src/protocol/generated/): decoding without reflection or eval, the
 * same for server and host. `--check` writes nothing and fails when the checked-in code is not what the proto says.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const OUT = join(ROOT, "src/protocol/generated");
const COMMON = [
  "--target",
  "static-module",
  "--wrap",
  "esm",
  "--es6",
  "--root",
  "opamp",
  "--dependency",
  "protobufjs/minimal.js",
];
// Only encode and decode are used. 64-bit numbers stay Long objects here; src/protocol/convert.ts makes them bigint.
const SLIM = ["create", "verify", "convert", "delimited", "typeurl", "service"].map((part) => `--no-${part}`);

const folder = mkdtempSync(join(tmpdir(), "opamp-proto-"));
try {
  const files = generate(folder);
  if (process.argv.includes("--check")) check(files);
  else for (const [name, text] of files) writeFileSync(join(OUT, name), text);
} finally {
  rmSync(folder, { recursive: true });
}

/** The types come from a run with comments, because pbjs makes them out of its comments; the code is kept without. */
function generate(into: string): Map<string, string> {
  const run = (out: string, extra: string[]): void => {
    const proto = join(ROOT, "src/protocol/opamp.proto");
    const pbjs = join(ROOT, "node_modules/protobufjs-cli/bin/pbjs");
    execFileSync(process.execPath, [pbjs, ...COMMON, "--force-long", ...SLIM, ...extra, "--out", out, proto]);
  };
  run(join(into, "opamp.js"), ["--dts"]);
  const types = readFileSync(join(into, "opamp.d.ts"), "utf8");
  run(join(into, "opamp.js"), ["--no-comments"]);
  return new Map([
    ["opamp.js", readFileSync(join(into, "opamp.js"), "utf8")],
    ["opamp.d.ts", types.replace('import Long = require("long");', 'import type Long from "long";')],
  ]);
}

function check(files: Map<string, string>): void {
  const stale = Array.from(files).filter(([name, text]) => readFileSync(join(OUT, name), "utf8") !== text);
  if (stale.length === 0) return;
  console.error(`not what src/protocol/opamp.proto says: ${stale.map(([name]) => name).join(", ")}`);
  console.error("run npm run generate:protocol");
  process.exitCode = 1;
}
