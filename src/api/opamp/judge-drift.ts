/**
 * Does each collector still run what it was sent? Judged behind the reports, a few at a time and never more than a part of
 * the processor: reading YAML of ten thousand hosts that come back at once must not keep their messages waiting. What is to
 * be judged stands in the rows, so a process that dies leaves it to another.
 */
import { setTimeout as pause } from "node:timers/promises";
import { parse } from "yaml";
import { compareConfig } from "../../domain/agents/config-compare.ts";
import { CHANNELS } from "../../domain/channels.ts";
import { lockDriftDue, writeDrift, type DriftCase, type DriftVerdict } from "../../store/agent-config.ts";
import { notify, transaction, type Pool } from "../../store/database.ts";
import { readEffective } from "./effective-config.ts";
import type { Seal } from "./seal.ts";

export type DriftJudge = { stop: () => Promise<void> };
type Deps = { pool: Pool; seal: Seal; onError: (error: unknown) => void };

const BATCH = 10;
const LOOK_MS = 1_000;
/** After a batch it rests for this many times what the batch took. */
const REST = 3;
const MAX_PATHS = 100;

export function createDriftJudge({ pool, seal, onError }: Deps): DriftJudge {
  const ending = new AbortController();
  const work = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const startMs = performance.now();
      const judged = await judgeSome(pool, seal).catch((error: unknown) => {
        onError(error);
        return 0;
      });
      const restMs = judged === 0 ? LOOK_MS : REST * (performance.now() - startMs);
      await pause(restMs, undefined, { signal: ending.signal, ref: false }).catch(() => undefined);
    }
  };
  const running = work();
  return {
    async stop() {
      ending.abort();
      await running;
    },
  };
}

/** Returns how many were judged. */
async function judgeSome(pool: Pool, seal: Seal): Promise<number> {
  return transaction(pool, async (tx) => {
    const cases = await lockDriftDue(tx, BATCH);
    if (cases.length === 0) return 0;
    const verdicts: DriftVerdict[] = [];
    for (const one of cases) {
      verdicts.push(judgeDrift(one, seal));
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    const changed = await writeDrift(tx, verdicts);
    if (changed.length > 0) await notify(tx, CHANNELS.agents);
    return cases.length;
  });
}

/** Nothing to compare, or nothing that can be read, is no verdict. */
function judgeDrift({ uid, effective, of, body }: DriftCase, seal: Seal): DriftVerdict {
  const none = { uid, of: null, paths: null };
  if (effective === null || of === null || body === null) return none;
  const running = readEffective(seal, effective);
  if (running?.merged === undefined) return none;
  const { differences } = compareConfig(parse(body.toString("utf8")), running.merged);
  return { uid, of, paths: differences.slice(0, MAX_PATHS).map(({ path }) => path.slice(0, 500)) };
}
