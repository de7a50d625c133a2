/**
 * Judges a revision in a worker thread within its time budget: 10 s to parse a file, `gitops.validationTimeout` for the
 * whole (decisions, YAML). A thread that takes longer is killed; that is an issue of the revision, not of the server.
 */
import { Worker } from "node:worker_threads";
import { fileIssue, type Limits, type RepositoryFile } from "../../domain/gitops/repository-files.ts";
import type { Verdict } from "../../domain/gitops/validate.ts";

export type Budget = { revisionMs: number; fileMs: number };
export const DEFAULT_BUDGET: Budget = { revisionMs: 180_000, fileMs: 10_000 };
/** Beyond this the thread ends by itself, the process stays. */
const MAX_HEAP_MB = 1_024;

/** `file` empty: all are parsed, what follows has the budget of the whole revision. */
export type ThreadMessage = { kind: "file"; file: string } | { kind: "verdict"; verdict: Verdict };

/** The verdict on `files`. Rejects only when the thread fails for a reason that is ours, or when `signal` aborts. */
export async function runValidation(
  files: readonly RepositoryFile[],
  limits: Limits,
  budget: Budget = DEFAULT_BUDGET,
  signal?: AbortSignal,
): Promise<Verdict> {
  signal?.throwIfAborted();
  const worker = new Worker(new URL("./validate-thread.ts", import.meta.url), {
    workerData: { files, limits },
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  try {
    return await verdictOf(worker, budget, signal);
  } finally {
    await worker.terminate();
  }
}

function verdictOf(worker: Worker, budget: Budget, signal: AbortSignal | undefined): Promise<Verdict> {
  let file = "";
  let fileTimer: NodeJS.Timeout | undefined;
  const timers: NodeJS.Timeout[] = [];
  const abort = new AbortController();
  return new Promise<Verdict>((resolve, reject) => {
    const giveUp = (message: string): void =>
      resolve({ issues: [fileIssue("time_budget_exceeded", file, message)], objects: [], samples: [] });
    const seconds = (ms: number): string => `${ms / 1000} s`;
    timers.push(
      setTimeout(() => giveUp(`the revision takes longer than ${seconds(budget.revisionMs)}`), budget.revisionMs),
    );
    worker.on("message", (message: ThreadMessage) => {
      clearTimeout(fileTimer);
      if (message.kind === "verdict") return resolve(message.verdict);
      file = message.file;
      if (file !== "")
        fileTimer = setTimeout(() => giveUp(`the file takes longer than ${seconds(budget.fileMs)}`), budget.fileMs);
      return undefined;
    });
    worker.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ERR_WORKER_OUT_OF_MEMORY")
        giveUp(`the revision needs more than ${MAX_HEAP_MB} MiB of memory`);
      else reject(error);
    });
    worker.on("exit", (code) => reject(new Error(`the validation thread ended with ${code}`)));
    signal?.addEventListener("abort", () => reject(signal.reason as Error), { signal: abort.signal });
  }).finally(() => {
    for (const timer of [...timers, fileTimer]) clearTimeout(timer);
    abort.abort();
  });
}
