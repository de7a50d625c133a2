/**
 * Judges revisions in worker threads within their time budget: 10 s to read a file, `gitops.validationTimeout` for the
 * whole (decisions, YAML). A thread that takes longer is killed; that is an issue of the revision, not of the server, and
 * whoever waits for the verdict is never kept from other work.
 */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { fileIssue, type Limits, type RepositoryFile } from "../../domain/gitops/repository-files.ts";
import type { ValidateOptions, Verdict } from "../../domain/gitops/validate.ts";
import type { ReadLimits } from "./read-files.ts";
import { watchThread } from "./thread-time.ts";

export type Budget = { revisionMs: number; fileMs: number };
export const DEFAULT_BUDGET: Budget = { revisionMs: 180_000, fileMs: 10_000 };
/** Beyond this the judging thread ends by itself, the process stays; what a 64 MiB repository needs fits twice. */
const MAX_HEAP_MB = 2_048;
/** Of a thread that reads files: a file of 4 MiB and 1,000,000 nodes fits. */
const READ_HEAP_MB = 1_024;

export type JudgeTask = { files: readonly RepositoryFile[]; limits: Limits; options: ValidateOptions };
/** `file` empty: all that the thread itself reads is read, what follows has the budget of the whole revision. */
export type JudgeMessage = { kind: "file"; file: string; computedMs: number } | { kind: "verdict"; verdict: Verdict };

export type RunOptions = ValidateOptions & { signal?: AbortSignal | undefined };
export type Judge = {
  /** The verdict on `files`. Rejects only when a thread fails for a reason that is ours, or when `signal` aborts. */
  validate: (files: readonly RepositoryFile[], limits: Limits, options?: RunOptions) => Promise<Verdict>;
  close: () => Promise<void>;
};
export type JudgeLimits = Budget & Partial<Pick<ReadLimits, "threads" | "heapMb">>;

/**
 * A judge for many revisions, one at a time: it keeps what it has read of the last one. Its thread is started when it is
 * needed, killed when it is over budget, and keeps no process alive that has nothing else to do.
 */
export function createJudge(budget: JudgeLimits): Judge {
  let worker: Worker | undefined;
  let before: Promise<unknown> = Promise.resolve();
  const discard = async (): Promise<void> => {
    const old = worker;
    worker = undefined;
    await old?.terminate();
  };
  const start = (): Worker => {
    const thread = startThread(budget);
    const forget = (): void => {
      if (worker === thread) worker = undefined;
    };
    // whoever waits for a verdict listens too; a thread that ends while it is idle is replaced when it is needed
    thread.on("error", forget).on("exit", forget);
    return thread;
  };
  const judge = async (task: JudgeTask, signal: AbortSignal | undefined): Promise<Verdict> => {
    signal?.throwIfAborted();
    worker ??= start();
    worker.ref();
    let isDone = false;
    try {
      const outcome = await judgeIn(worker, task, budget, signal);
      isDone = outcome.survived;
      return outcome.verdict;
    } finally {
      if (isDone) worker?.unref();
      else await discard();
    }
  };
  return {
    validate: (files, limits, { signal, ...options } = {}) => {
      const running = before.then(() => judge({ files, limits, options }, signal));
      before = running.catch(() => undefined);
      return running;
    },
    close: discard,
  };
}

/** One verdict, by a judge of its own. */
export async function runValidation(
  files: readonly RepositoryFile[],
  limits: Limits,
  budget: JudgeLimits = DEFAULT_BUDGET,
  signal?: AbortSignal,
  options: ValidateOptions = {},
): Promise<Verdict> {
  const judge = createJudge(budget);
  try {
    return await judge.validate(files, limits, { ...options, signal });
  } finally {
    await judge.close();
  }
}

function startThread({ fileMs, threads = availableParallelism(), heapMb = READ_HEAP_MB }: JudgeLimits): Worker {
  const workerData: ReadLimits = { threads, fileMs, heapMb };
  return new Worker(new URL("./validate-thread.ts", import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
}

/** `survived`: the thread is idle again and may judge the next revision. */
type Outcome = { verdict: Verdict; survived: boolean };

function judgeIn(worker: Worker, task: JudgeTask, budget: Budget, signal: AbortSignal | undefined): Promise<Outcome> {
  let file = "";
  let endWatch = (): void => undefined;
  let revisionTimer: NodeJS.Timeout | undefined;
  const done = new AbortController();
  return new Promise<Outcome>((resolve, reject) => {
    const giveUp = (message: string): void => {
      const issues = [fileIssue("time_budget_exceeded", file, message)];
      resolve({ verdict: { issues, objects: [], samples: [] }, survived: false });
    };
    const over = (what: string, ms: number) => () => giveUp(`the ${what} takes longer than ${ms / 1000} s`);
    revisionTimer = setTimeout(over("revision", budget.revisionMs), budget.revisionMs);
    const onMessage = (message: JudgeMessage): void => {
      endWatch();
      if (message.kind === "verdict") return resolve({ verdict: message.verdict, survived: true });
      file = message.file;
      if (file !== "") endWatch = watchThread(worker, message.computedMs, budget.fileMs, over("file", budget.fileMs));
      return undefined;
    };
    const onError = (error: NodeJS.ErrnoException): void => {
      if (error.code === "ERR_WORKER_OUT_OF_MEMORY") giveUp("the revision needs too much memory");
      else reject(error);
    };
    const onExit = (code: number): void => reject(new Error(`the validation thread ended with ${code}`));
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
    done.signal.addEventListener("abort", () => {
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
    });
    signal?.addEventListener("abort", () => reject(signal.reason as Error), { signal: done.signal });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage(task);
  }).finally(() => {
    endWatch();
    clearTimeout(revisionTimer);
    done.abort();
  });
}
