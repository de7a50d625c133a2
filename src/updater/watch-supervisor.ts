/**
 * Looks after a supervisor that does not come up while nothing is going on: after a start of the host, or when it ended by
 * itself. What may be done is decided in `start-mending.ts`; never beside an attempt, which stops and starts it, too.
 */
import type { Clock } from "./clock.ts";
import type { StartMending } from "./start-mending.ts";

export type WatchDeps = {
  mending: Pick<StartMending, "lookAtRest">;
  updater: { whileIdle: (work: () => Promise<void>) => Promise<void> };
  clock: Clock;
  /** Ends the watch. */
  signal: AbortSignal;
};

/** While something is wrong, and so often after the start; a supervisor needs its time to fail. */
const SOON_MS = 5_000;
const FIRST_LOOKS = 6;
const LATER_MS = 60_000;

/** Resolves when `signal` is aborted. */
export async function watchSupervisor({ mending, updater, clock, signal }: WatchDeps): Promise<void> {
  for (let looks = 1; !signal.aborted; looks++) {
    let soon = looks < FIRST_LOOKS;
    await updater.whileIdle(async () => void ((await mending.lookAtRest()) && (soon = true)));
    await clock.sleep(soon ? SOON_MS : LATER_MS, signal).catch(() => undefined); // the signal is asked above
  }
}
