/**
 * Reads many files in threads, one per core (decisions, YAML). A thread that takes longer than its time for one file, or
 * more memory than it may, is killed: that is an issue of the file that it was reading, the others are read by a new one.
 */
import { Worker } from "node:worker_threads";
import { unreadable, type FileReading, type ReadTask } from "../../domain/gitops/file-reading.ts";
import { fileIssue } from "../../domain/gitops/repository-files.ts";
import { watchThread } from "./thread-time.ts";

/** `computedMs`: what the thread has computed so far, before its next file. */
export type ReadMessage = { computedMs: number } & ({ kind: "ready" } | { kind: "reading"; reading: FileReading });
export type ReadLimits = { threads: number; fileMs: number; heapMb: number };
type Job = { task: ReadTask; index: number };
/** What a thread did not survive. */
type Casualty = { job: Job; reason: string };

/** So much is handed to a thread ahead of time, so that it never waits for the next small file. */
const AHEAD_BYTES = 64 * 1024;

/** The readings of `tasks`, in their order. Rejects only when a thread fails for a reason that is ours. */
export async function readFiles(tasks: readonly ReadTask[], limits: ReadLimits): Promise<FileReading[]> {
  const readings = new Map<number, FileReading>();
  // the largest first, so that no thread begins one when the others have ended
  const queue = tasks
    .map((task, index): Job => ({ task, index }))
    .toSorted((a, b) => b.task.bytes.length - a.task.bytes.length || a.index - b.index);
  const lane = async (): Promise<void> => {
    while (queue.length > 0) {
      const casualty = await drain(queue, readings, limits);
      if (casualty === undefined) continue;
      const { job, reason } = casualty;
      readings.set(job.index, unreadable(fileIssue("time_budget_exceeded", job.task.file, reason)));
    }
  };
  await Promise.all(Array.from({ length: Math.min(limits.threads, tasks.length) }, lane));
  return tasks.map(({ file }, index) => {
    const reading = readings.get(index);
    if (reading === undefined) throw new TypeError(`${file} was not read`);
    return reading;
  });
}

/** Lets one thread read from the queue until it is empty. What it was given and did not read goes back. */
async function drain(
  queue: Job[],
  readings: Map<number, FileReading>,
  limits: ReadLimits,
): Promise<Casualty | undefined> {
  const worker = new Worker(new URL("./read-thread.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  const given: Job[] = [];
  let endWatch = (): void => undefined;
  try {
    return await new Promise<Casualty | undefined>((resolve, reject) => {
      const giveUp = (reason: string): void => {
        const job = given.shift();
        resolve(job === undefined ? undefined : { job, reason });
      };
      const over = (): void => giveUp(`the file takes longer than ${limits.fileMs / 1000} s`);
      worker.on("message", (message: ReadMessage) => {
        const job = message.kind === "reading" ? given.shift() : undefined;
        if (message.kind === "reading" && job !== undefined) readings.set(job.index, message.reading);
        endWatch();
        give(worker, queue, given);
        if (given.length === 0) resolve(undefined);
        else endWatch = watchThread(worker, message.computedMs, limits.fileMs, over);
      });
      worker.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "ERR_WORKER_OUT_OF_MEMORY" && given.length > 0)
          giveUp(`the file needs more than ${limits.heapMb} MiB of memory`);
        else reject(error);
      });
      worker.on("exit", (code) => reject(new Error(`a reading thread ended with ${code}`)));
    });
  } finally {
    endWatch();
    queue.unshift(...given);
    await worker.terminate();
  }
}

function give(worker: Worker, queue: Job[], given: Job[]): void {
  let ahead = given.reduce((sum, { task }) => sum + task.bytes.length, 0);
  while (queue.length > 0 && (given.length === 0 || ahead < AHEAD_BYTES)) {
    const job = queue.shift();
    if (job === undefined) return;
    given.push(job);
    ahead += job.task.bytes.length;
    // a copy of its own: a view would drag everything along that shares its buffer
    const bytes = Uint8Array.from(job.task.bytes);
    const { file, holds } = job.task;
    worker.postMessage({ file, holds, bytes } satisfies ReadTask, [bytes.buffer]);
  }
}
