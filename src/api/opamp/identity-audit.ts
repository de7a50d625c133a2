/**
 * The audit of agents that came with the successor of their credential: one entry per agent, written together, because
 * during a rotation the whole fleet comes within a minute and every entry of the chain waits for the one before.
 */
import { appendAudit } from "../../store/audit.ts";
import { transaction, type Pool } from "../../store/database.ts";
import type { Moved } from "./who-speaks.ts";

type Deps = { pool: Pool; now: () => Date; onError: (error: unknown) => void };

const GATHER_MS = 500;
const BATCH = 200;
/** While the database is away; the rows of the agents say their credential in any case. */
const MAX_WAITING = 20_000;

export function createIdentityAudit({ pool, now, onError }: Deps): {
  moved: (moved: Moved) => void;
  stop: () => Promise<void>;
} {
  let waiting: (Moved & { at: Date })[] = [];
  let timer: NodeJS.Timeout | undefined;

  const write = async (): Promise<void> => {
    timer = undefined;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH);
      try {
        await transaction(pool, async (tx) => {
          for (const { uid, from, to, at } of batch) {
            const entry = { action: "agent.credential", object: `agent/${uid}`, detail: { from, to } };
            await appendAudit(tx, { principal: "system", outcome: "accepted", ...entry }, at);
          }
        });
      } catch (error) {
        waiting = [...batch, ...waiting].slice(0, MAX_WAITING);
        onError(error);
        return;
      }
    }
  };
  return {
    moved(moved) {
      if (waiting.length < MAX_WAITING) waiting.push({ ...moved, at: now() });
      timer ??= setTimeout(() => void write(), GATHER_MS).unref();
    },
    async stop() {
      clearTimeout(timer);
      await write();
    },
  };
}
