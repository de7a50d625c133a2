/**
 * The thread that judges revisions. Files of a few kilobytes are read here, more in threads of their own; what was read is
 * kept by blob id until a revision comes that no longer has it, so a revision that changes little costs little. Objects
 * keep their identity from one revision to the next: what is compiled and rendered for them is found again.
 */
import { parentPort, workerData } from "node:worker_threads";
import { readFile, type FileReading } from "../../domain/gitops/file-reading.ts";
import { judgeReadings, planReading, type PlannedTask, type Verdict } from "../../domain/gitops/validate.ts";
import { readFiles, type ReadLimits } from "./read-files.ts";
import type { JudgeMessage, JudgeTask } from "./run-validation.ts";
import { ownTimeMs } from "./thread-time.ts";

const limits = workerData as ReadLimits;
/** Below this a thread takes longer to start than to read. */
const INLINE_BYTES = 256 * 1024;

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has no origin
const say = (message: JudgeMessage): void => parentPort?.postMessage(message);

const kept = new Map<string, FileReading>();
const keyOf = ({ file, holds, oid }: PlannedTask): string | undefined =>
  oid === undefined ? undefined : `${oid} ${holds} ${file}`;

async function judge({ files, limits: at, options }: JudgeTask): Promise<Verdict> {
  const plan = planReading(files, at);
  const known = plan.tasks.map((task) => kept.get(keyOf(task) ?? ""));
  const unread = plan.tasks.filter((_, index) => known[index] === undefined);
  const read = await readAll(unread);
  const readings = known.map((reading) => reading ?? (read.shift() as FileReading));
  kept.clear();
  for (const [index, task] of plan.tasks.entries()) keep(task, readings[index]);
  return judgeReadings(plan, readings, options);
}

function readAll(tasks: readonly PlannedTask[]): Promise<FileReading[]> | FileReading[] {
  const total = tasks.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const threads = Math.min(limits.threads, Math.ceil(total / INLINE_BYTES));
  // also with one: the verdict on a file that takes too long does not depend on how many cores there are
  if (total > INLINE_BYTES) return readFiles(tasks, { ...limits, threads });
  const readings = tasks.map((task) => {
    say({ kind: "file", file: task.file, computedMs: ownTimeMs() });
    return readFile(task);
  });
  say({ kind: "file", file: "", computedMs: ownTimeMs() });
  return readings;
}

/** What a limit has cut off is tried again by the next revision. */
function keep(task: PlannedTask, reading: FileReading | undefined): void {
  const key = keyOf(task);
  if (key === undefined || reading === undefined) return;
  if (reading.issues.some(({ code }) => code === "time_budget_exceeded")) return;
  kept.set(key, reading);
}

parentPort?.on("message", (task: JudgeTask) => {
  // what fails here ends the thread, and whoever waits for it is told why
  void judge(task).then((verdict) => say({ kind: "verdict", verdict }));
});
