/**
 * How long a thread has computed for one file: its own time on a core, not the clock on the wall. A machine that is busy
 * with other work refuses nothing that an idle one accepts; the clock bounds the whole revision.
 */
import type { Worker } from "node:worker_threads";

/** The time that the calling thread has computed so far. */
export const ownTimeMs = (): number => inMs(process.threadCpuUsage());

const inMs = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;
/** The clocks of wall and core are not the same: no closer than this is looked again. */
const LEAST_MS = 5;

/**
 * Calls `onOver` when `thread` has computed for `budgetMs` since it had computed for `fromMs`. Returns what ends the watch;
 * after that `onOver` is not called.
 */
export function watchThread(
  thread: Pick<Worker, "cpuUsage">,
  fromMs: number,
  budgetMs: number,
  onOver: () => void,
): () => void {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    const usage = await thread.cpuUsage().catch(() => undefined); // a thread that is gone says so itself
    if (isOver || usage === undefined) return;
    const leftMs = budgetMs - (inMs(usage) - fromMs);
    if (leftMs <= 0) onOver();
    else lookIn(leftMs);
  };
  const lookIn = (ms: number): void => {
    timer = setTimeout(() => void look(), Math.max(ms, LEAST_MS));
  };
  lookIn(budgetMs);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
