/** Forgets agents that were not heard for `agents.forgetAfter`. Every process looks once a minute; a row goes once. */
import { CHANNELS } from "../../domain/channels.ts";
import { appendAudit } from "../../store/audit.ts";
import { notify, transaction, type Pool } from "../../store/database.ts";
import { forgetAway } from "../../store/forget-agents.ts";

const EVERY_MS = 60_000;
const ROWS = 500;
/** Of one look: what is left waits for the next one. */
const MAX_ROUNDS = 20;

export function createForgetAway({ pool, now, afterMs }: { pool: Pool; now: () => Date; afterMs: number }) {
  let nextMs = 0;
  return async (): Promise<void> => {
    const nowMs = now().getTime();
    if (nowMs < nextMs) return;
    nextMs = nowMs + EVERY_MS;
    const before = new Date(nowMs - afterMs);
    for (let round = 0, full = true; full && round < MAX_ROUNDS; round++)
      full = await transaction(pool, async (tx) => {
        const count = await forgetAway(tx, before, ROWS, now());
        if (count === 0) return false;
        const detail = { count, notHeardSince: before.toISOString() };
        const entry = { principal: "system", action: "agents.forget", object: "agents", outcome: "accepted" as const };
        await appendAudit(tx, { ...entry, detail }, now());
        await notify(tx, CHANNELS.agents);
        return count === ROWS;
      });
  };
}
