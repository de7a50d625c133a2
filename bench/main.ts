/** `npm run bench [-- NAME…]`: each benchmark in a process of its own; a table for people, a JSON line per figure, RESULTS.md. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { tableOf, type Figure } from "./report.ts";

const run = promisify(execFile);
const NAMES = [
  "start",
  "rollout",
  "validate",
  "webhook",
  "opamp",
  "download",
  "updater",
  "depot",
  "serve",
  "plan",
] as const;
const LIMIT_MS = 30 * 60_000;
const RESULTS = fileURLToPath(new URL("./RESULTS.md", import.meta.url));

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !NAMES.some((known) => known === name));
if (unknown.length > 0) {
  console.error(`no benchmark ${unknown.join(", ")}; there are: ${NAMES.join(", ")}`);
  process.exit(2);
}
for (const name of NAMES.filter((known) => asked.length === 0 || asked.includes(known))) {
  const script = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  const { stdout } = await run(process.execPath, [script], { timeout: LIMIT_MS, maxBuffer: 64 * 1024 ** 2 });
  const lines = stdout.split("\n").filter((line) => line !== "");
  const figures = lines.filter((line) => line.startsWith('{"name"')).map((line) => JSON.parse(line) as Figure);
  const notes = lines.filter((line) => !line.startsWith('{"name"'));
  const section = [`## ${name}`, "", ...notes, "", tableOf(figures), ""].join("\n");
  console.log(section);
  for (const figure of figures) console.log(JSON.stringify(figure));
  await keep(name, section);
}

/** Replaces one section of RESULTS.md and leaves the others. */
async function keep(name: string, section: string): Promise<void> {
  const before = await readFile(RESULTS, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return "";
  });
  const others = before.split(/^(?=## )/m).filter((part) => part.startsWith("## ") && !part.startsWith(`## ${name}\n`));
  const head = `# Results\n\nMeasured with \`npm run bench\` on ${cpus().length} cores, Node ${process.version}. Absolute times differ between machines; ratios are of one run.\n\n`;
  await writeFile(RESULTS, head + [...others, section].toSorted().join(""));
}
