/**
 * Contents that failed lately, by hash (contract: `failedRetryBackoff`). Counted by the monotonic clock: whatever happens
 * to the wall clock, a wait is neither skipped nor longer than configured. Across a restart within the same boot the
 * clock goes on; across a reboot the remainder that was stored last counts.
 */
import { z } from "zod";
import type { Clock } from "./clock.ts";
import { readState, writeState, type StateFolder } from "./state-file.ts";

const FILE = "backoff.json";
const Stored = z.strictObject({
  bootId: z.string().nullable(),
  failures: z.array(
    z.strictObject({
      contentHash: z.string(),
      cause: z.string(),
      untilMonotonicMs: z.number(),
      remainingMs: z.number().min(0),
    }),
  ),
});
type Failure = { cause: string; untilMs: number };
/** More contents than a server ever offers one host; a hostile one fills no disk. */
const MAX_ENTRIES = 32;

export type Backoff = {
  /** Remembers a failed content from now on. */
  remember(contentHash: string, cause: string): Promise<void>;
  /** Why it failed and until when (ISO 8601) it is not tried again; undefined when it may be tried. */
  of(contentHash: string): { cause: string; notBefore: string } | undefined;
  /** All that are not tried at present, for people. */
  all(): { contentHash: string; cause: string; notBefore: string }[];
  /** Stores what remains; called now and then where no boot id tells the time that passed. */
  store(): Promise<void>;
};

export async function openBackoff(folder: StateFolder, clock: Clock, lengthMs: number): Promise<Backoff> {
  const failures = new Map<string, Failure>();
  const found = await readState(folder, FILE, Stored);
  const now = clock.monotonicMs();
  if (found.state === "ok") {
    const sameBoot = clock.bootId !== undefined && found.value.bootId === clock.bootId;
    for (const it of found.value.failures) {
      const left = sameBoot ? it.untilMonotonicMs - now : it.remainingMs;
      if (left > 0) failures.set(it.contentHash, { cause: it.cause, untilMs: now + Math.min(left, lengthMs) });
    }
  }

  /** Whatever cannot be stored counts until the next start. */
  async function store(): Promise<void> {
    try {
      await write();
    } catch (error) {
      folder.log.error({ error: String(error) }, "the contents that failed could not be stored");
    }
  }
  async function write(): Promise<void> {
    const at = clock.monotonicMs();
    for (const [hash, { untilMs }] of failures) if (untilMs <= at) failures.delete(hash);
    await writeState(folder, FILE, {
      bootId: clock.bootId ?? null,
      failures: Array.from(failures, ([contentHash, { cause, untilMs }]) => ({
        contentHash,
        cause,
        untilMonotonicMs: untilMs,
        remainingMs: untilMs - at,
      })),
    });
  }

  function of(contentHash: string): { cause: string; notBefore: string } | undefined {
    const failed = failures.get(contentHash);
    const left = (failed?.untilMs ?? 0) - clock.monotonicMs();
    if (failed === undefined || left <= 0) return undefined;
    const notBefore = new Date(Number(clock.nowNanos() / 1_000_000n) + left).toISOString();
    return { cause: failed.cause, notBefore };
  }

  return {
    remember: async (contentHash, cause) => {
      failures.delete(contentHash);
      failures.set(contentHash, { cause, untilMs: clock.monotonicMs() + lengthMs });
      const [oldest] = failures.keys();
      if (failures.size > MAX_ENTRIES && oldest !== undefined) failures.delete(oldest);
      await store();
    },
    of,
    all: () =>
      Array.from(failures.keys()).flatMap((contentHash) => {
        const found = of(contentHash);
        return found === undefined ? [] : [{ contentHash, ...found }];
      }),
    store: async () => {
      if (failures.size > 0) await store();
    },
  };
}
