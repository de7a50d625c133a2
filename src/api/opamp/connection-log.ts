/** Connection events between two batches: what of them becomes rows, and who flaps. */
import { QUIET, worthARow, type ConnectionChange, type Flapping } from "../../domain/agents/connection-history.ts";
import type { ConnectionEvent } from "../../store/agents.ts";

export type ConnectionLog = {
  add(uid: string, change: ConnectionChange): void;
  /** Rows to write now. */
  take(): ConnectionEvent[];
  /** These could not be written: they come first next time. */
  giveBack(rows: readonly ConnectionEvent[]): void;
};

/** Rows while the database is away; older ones are dropped first. */
const MAX_ROWS = 50_000;
/** Nobody who was quiet for this long is remembered. */
const FORGET_MS = 120_000;

export function createConnectionLog(now: () => Date): ConnectionLog {
  const changes = new Map<string, ConnectionChange[]>();
  const flapping = new Map<string, Flapping>();
  let unwritten: ConnectionEvent[] = [];
  let prunedAtMs = 0;

  const prune = (): void => {
    const nowMs = now().getTime();
    if (nowMs - prunedAtMs < FORGET_MS) return;
    prunedAtMs = nowMs;
    for (const [uid, { recentMs }] of flapping) if (nowMs - (recentMs.at(-1) ?? 0) > FORGET_MS) flapping.delete(uid);
  };
  return {
    add(uid, change) {
      const known = changes.get(uid);
      if (known === undefined) changes.set(uid, [change]);
      else known.push(change);
    },
    take() {
      const rows = Array.from(changes).flatMap(([uid, said]) => {
        const { rows: worth, after } = worthARow(said, flapping.get(uid) ?? QUIET);
        flapping.set(uid, after);
        return worth.map((row) => ({ uid, ...row }));
      });
      const taken = [...unwritten, ...rows];
      changes.clear();
      unwritten = [];
      prune();
      return taken;
    },
    giveBack(rows) {
      unwritten = [...rows, ...unwritten].slice(-MAX_ROWS);
    },
  };
}
