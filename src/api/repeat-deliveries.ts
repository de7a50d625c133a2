/**
 * A delivery whose poke did not reach Temporal waits in its row. It is told again until a fetch has answered it, so that a
 * long `gitops.pollInterval` never decides when a push is seen (decisions, Webhook: "noted in a row and synced later").
 */
import type { Pool } from "../store/database.ts";
import { readGitopsState } from "../store/gitops.ts";

type Deps = {
  pool: Pool;
  poke: (cause: string) => Promise<void>;
  now: () => Date;
  onError: (error: unknown) => void;
  /** How often the row is looked at. A delivery younger than this is on its way. */
  everyMs?: number;
};

/** Looks until `stop` resolves. What fails is told to `onError` and tried again at the next look. */
export function repeatDeliveries({ pool, poke, now, onError, everyMs = 10_000 }: Deps): { stop: () => Promise<void> } {
  let running: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    const { deliveryAt } = await readGitopsState(pool);
    if (deliveryAt !== null && now().getTime() - deliveryAt.getTime() >= everyMs) await poke("a delivery that waits");
  };
  const timer = setInterval(() => {
    // Temporal may take seconds to refuse: looks never pile up
    running ??= look()
      .catch(onError)
      .finally(() => {
        running = undefined;
      });
  }, everyMs);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
