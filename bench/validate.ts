/**
 * `myrctl validate` as a whole process against a process that only parses the same files with `yaml`; a repository near the
 * 64 MiB limit; and the server's judge when one file of many has changed. Every round is in processes of its own, ours and
 * the other by turns, so that what else the machine does disturbs both alike.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { readFolder } from "../src/activities/git-reader/read-folder.ts";
import { createJudge, DEFAULT_BUDGET } from "../src/activities/git-reader/run-validation.ts";
import { DEFAULT_LIMITS, type RepositoryFile } from "../src/domain/gitops/repository-files.ts";
import { atMost, atMostTimes, median } from "./report.ts";
import { createRepository, LARGEST, USUAL, type RepositorySize } from "./validate-repository.ts";

const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 5);
const PARSE_FACTOR = 3;
const MAX_MIB = 1024;
const LARGEST_S = 180;
const ONE_FILE_SHARE = 0.1;

const run = promisify(execFile);
const SELF = fileURLToPath(import.meta.url);
const MYRCTL = fileURLToPath(new URL("../src/bin/myrctl.ts", import.meta.url));
/** Makes a process say on its last line how much memory it ever had. */
const SAY_PEAK = `data:text/javascript,process.on("exit",()=>console.log("\\npeakKiB="+process.resourceUsage().maxRSS))`;

type Timed = { ms: number; peakMib: number };
type Round = { ours: Timed; parse: Timed; judge: { coldMs: number; warmMs: number } };

const say = (figure: object): void => console.log(JSON.stringify(figure));

const [part, folder = ""] = process.argv.slice(2);
if (part === "parse") await onlyParse(folder);
else if (part === "warm") console.log(JSON.stringify(await coldAndWarm(folder)));
else await main();

async function main(): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "myriarch-bench-"));
  try {
    const usual = await write(join(root, "usual"), USUAL);
    const largest = await write(join(root, "largest"), LARGEST);
    const { fleets, samples } = USUAL;
    console.log(
      `${usual.files} files (${usual.mib.toFixed(1)} MiB), ${fleets} fleets, ${samples} samples; the largest repository has ${largest.mib.toFixed(1)} MiB. Medians of ${ROUNDS} rounds, whole processes.`,
    );
    const rounds: Round[] = [];
    for (let k = 0; k < ROUNDS; k++) {
      const ours = await timed([MYRCTL, "validate", usual.folder]);
      const parse = await timed([SELF, "parse", usual.folder]);
      const { stdout } = await run(process.execPath, [SELF, "warm", usual.folder]);
      rounds.push({ ours, parse, judge: JSON.parse(stdout) as Round["judge"] });
    }
    const seconds = (of: (round: Round) => number): number => median(rounds.map(of)) / 1000;
    say(
      atMostTimes(
        "validate",
        seconds((it) => it.ours.ms),
        seconds((it) => it.parse.ms),
        PARSE_FACTOR,
        "s",
      ),
    );
    say(atMost("peak memory", median(rounds.map(({ ours }) => ours.peakMib)), MAX_MIB, "MiB"));
    const [warm, cold] = [seconds((it) => it.judge.warmMs), seconds((it) => it.judge.coldMs)];
    say(atMostTimes("one changed file, the server's judge", warm, cold, ONE_FILE_SHARE, "s"));
    const big = await timed([MYRCTL, "validate", largest.folder]).catch((error: unknown) => {
      // a machine that is too slow runs over the budget: that is a figure, not a fault of the benchmark
      if (!/time_budget_exceeded/.test((error as { stdout?: string }).stdout ?? "")) throw error;
      return undefined;
    });
    say(atMost("the largest repository, cold", (big?.ms ?? Number.POSITIVE_INFINITY) / 1000, LARGEST_S, "s"));
    if (big === undefined) console.log("The largest repository ran over its time budget.");
    else console.log(`The largest repository took ${Math.round(big.peakMib)} MiB at most.`);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function write(to: string, size: RepositorySize): Promise<{ folder: string; files: number; mib: number }> {
  const files = createRepository(size);
  let bytes = 0;
  for (const [path, text] of files) {
    await mkdir(dirname(join(to, path)), { recursive: true });
    await writeFile(join(to, path), text);
    bytes += Buffer.byteLength(text);
  }
  return { folder: to, files: files.size, mib: bytes / 1024 ** 2 };
}

/** One process, from its start to its end. It must succeed: a repository with issues would be another measurement. */
async function timed(args: readonly string[]): Promise<Timed> {
  const startedAt = performance.now();
  const { stdout } = await run(process.execPath, ["--import", SAY_PEAK, ...args], { maxBuffer: 64 * 1024 ** 2 });
  const ms = performance.now() - startedAt;
  const peakKib = Number(/peakKiB=(\d+)/.exec(stdout)?.[1]);
  if (!Number.isFinite(peakKib)) throw new Error(`no peak in:\n${stdout}`);
  return { ms, peakMib: peakKib / 1024 };
}

/** What it is measured against. */
async function onlyParse(from: string): Promise<void> {
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) parseAllDocuments(await readFile(join(entry.parentPath, entry.name), "utf8"));
  }
}

/** The judge's first revision, and its second, in which one fleet differs. */
async function coldAndWarm(from: string): Promise<{ coldMs: number; warmMs: number }> {
  const withId = (file: RepositoryFile): RepositoryFile =>
    file.bytes === undefined ? file : { ...file, oid: createHash("sha1").update(file.bytes).digest("hex") };
  const files = (await readFolder(from, DEFAULT_LIMITS)).map(withId);
  const judge = createJudge(DEFAULT_BUDGET);
  const judged = async (revision: readonly RepositoryFile[]): Promise<number> => {
    const startedAt = performance.now();
    const { issues } = await judge.validate(revision, DEFAULT_LIMITS);
    if (issues.length > 0) throw new Error(`the repository has issues: ${JSON.stringify(issues[0])}`);
    return performance.now() - startedAt;
  };
  try {
    const coldMs = await judged(files);
    const at = files.findIndex(({ path }) => path.startsWith("fleets/"));
    const changed = files.map((file, index) => (index === at ? withId(edited(file)) : file));
    return { coldMs, warmMs: await judged(changed) };
  } finally {
    await judge.close();
  }
}

function edited(file: RepositoryFile): RepositoryFile {
  const text = new TextDecoder().decode(file.bytes).replace(/batch_size: \d+/, "batch_size: 777");
  const bytes = new TextEncoder().encode(text);
  return { ...file, bytes, size: bytes.length };
}
