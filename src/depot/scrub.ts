/**
 * Reads copies again before somebody needs them: sizes daily, all bytes weekly (design "Depots"). A copy with wrong bytes
 * is put aside on the spot; the reconciler then takes the sibling's, and where there is none the list says that this node
 * lacks it, so that the server sends another. It is bounded in speed, goes on where it was after a restart, and takes
 * nothing away that is right.
 */
import { join } from "node:path";
import { z } from "zod";
import {
  advanced,
  begun,
  dueScrub,
  ended,
  NO_SCRUBS,
  SCRUB_KINDS,
  type ScrubEveryMs,
  type ScrubHistory,
  type ScrubKind,
} from "../domain/depot/scrub-plan.ts";
import type { ScrubStatus } from "../domain/depot/node-status.ts";
import type { Disk } from "./disk.ts";
import type { Checked, DiskStore } from "./disk-store.ts";
import type { Pace, Sleep } from "./pace.ts";
import type { Wanted } from "./reconciler.ts";
import { replaceFile } from "./replace-file.ts";

export type Scrub = {
  /** Begins one now, or lets the one of this kind that runs go on; `deep` takes the place of `light`. */
  begin(kind: ScrubKind): void;
  /** Resolves when nothing runs any more. */
  idle(): Promise<void>;
  status(): ScrubStatus;
  /** Bytes read since the node started. */
  bytes(): number;
  /** Ends what runs; the next process goes on there. */
  close(): Promise<void>;
};
export type ScrubOptions = {
  every: ScrubEveryMs;
  /** How often it is looked whether one is due. */
  lookEveryMs: number;
  nowMs: () => number;
  sleep: Sleep;
  pace: Pace;
};
type Deps = ScrubOptions & {
  store: DiskStore;
  wanted: () => Wanted | undefined;
  /** Something is missing that a sibling may have. */
  onMissing: () => void;
  log: (message: string, fields: object) => void;
};

export const SCRUB_FILE = "scrub.json";
/** So many artifacts are read again, at most, after a restart. */
const SAVE_EVERY = 100;
const time = z.number().optional();
const saved = z.strictObject({
  v: z.literal(1),
  endedAtMs: z.strictObject({ light: time, deep: time }),
  running: z.strictObject({ kind: z.enum(SCRUB_KINDS), startedAtMs: z.number(), after: z.string() }).optional(),
});

export const createScrub = (deps: Deps): Scrub => new Scrubber(deps);

class Scrubber implements Scrub {
  private readonly deps: Deps;
  private readonly stop = new AbortController();
  private readonly found: Record<Checked, number> = { right: 0, wrong: 0, missing: 0, unreadable: 0 };
  private readonly waiting: (() => void)[] = [];
  private readonly loop: Promise<void>;
  /** Undefined until the disks were read. */
  private history: ScrubHistory | undefined;
  private asked: ScrubKind | undefined;
  private wake = new AbortController();
  private isAtWork = false;
  private progress = { checked: 0, of: 0 };
  private bytesRead = 0;

  constructor(deps: Deps) {
    this.deps = deps;
    this.loop = this.work();
  }

  begin(kind: ScrubKind): void {
    this.asked = this.asked === "deep" ? "deep" : kind;
    this.wake.abort();
  }

  async idle(): Promise<void> {
    if (!this.isAtWork && this.asked === undefined) return;
    await new Promise<void>((resolve) => void this.waiting.push(resolve));
  }

  status(): ScrubStatus {
    const { running, endedAtMs } = this.history ?? NO_SCRUBS;
    const shown = running && { kind: running.kind, startedAt: timeOf(running.startedAtMs), ...this.progress };
    return {
      running: this.isAtWork && shown !== undefined ? shown : null,
      lightEndedAt: timeOf(endedAtMs.light),
      deepEndedAt: timeOf(endedAtMs.deep),
      found: { ...this.found },
    };
  }

  bytes(): number {
    return this.bytesRead;
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.loop;
  }

  private async work(): Promise<void> {
    const { sleep, lookEveryMs, log } = this.deps;
    while (!this.stop.signal.aborted) {
      await this.turn().catch((error: unknown) => {
        if (!this.stop.signal.aborted) log("a scrub failed; it is tried again", { error: String(error) });
      });
      this.isAtWork = false;
      if (this.asked !== undefined) continue;
      this.tellIdle();
      this.wake = new AbortController();
      await sleep(lookEveryMs, AbortSignal.any([this.wake.signal, this.stop.signal])).catch(() => undefined); // woken
    }
    this.tellIdle();
  }

  private tellIdle(): void {
    this.waiting.splice(0).forEach((resolve) => resolve());
  }

  private async turn(): Promise<void> {
    const wish = this.asked;
    this.asked = undefined;
    // before the node has a configuration there is nothing to compare with
    if (this.deps.wanted() === undefined) return;
    this.history ??= await load(this.deps);
    const kind = wish ?? dueScrub(this.history, this.deps.nowMs(), this.deps.every);
    if (kind === undefined) return;
    this.isAtWork = true;
    await this.run(kind, begun(this.history, kind, this.deps.nowMs()));
  }

  private readonly pace: Pace = async (bytes, signal) => {
    this.bytesRead += bytes;
    await this.deps.pace(bytes, signal);
  };

  private async run(kind: ScrubKind, from: ScrubHistory): Promise<void> {
    const wanted = Array.from(this.deps.wanted()?.all() ?? []).sort();
    const done = wanted.filter((it) => it <= (from.running?.after ?? "")).length;
    this.history = from;
    this.progress = { checked: done, of: wanted.length };
    for (const sha256 of wanted.slice(done)) {
      if (this.stop.signal.aborted || (this.asked === "deep" && kind === "light")) break;
      await checkCopies({ ...this.deps, pace: this.pace }, sha256, kind, this.found, this.stop.signal);
      this.history = advanced(this.history, sha256);
      if (++this.progress.checked % SAVE_EVERY === 0) await save(this.deps, this.history);
    }
    const isWhole = this.progress.checked === this.progress.of;
    if (isWhole) this.history = ended(this.history, this.deps.nowMs());
    await save(this.deps, this.history);
    this.deps.log(isWhole ? "a scrub ended" : "a scrub was interrupted", { kind, ...this.progress, found: this.found });
  }
}

const timeOf = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());

/** Each disk's copy. One that is missing or wrong is left to the reconciler. */
async function checkCopies(
  { store, wanted, pace, onMissing, log }: Deps,
  sha256: string,
  kind: ScrubKind,
  found: Record<Checked, number>,
  signal: AbortSignal,
): Promise<void> {
  let lacking = false;
  for (const disk of store.healthy()) {
    if (wanted()?.wants(sha256) !== true) return; // the configuration changed meanwhile
    const size = wanted()?.sizeOf(sha256);
    const result = await store.check(sha256, disk, {
      size,
      ...(kind === "deep" && { pace: (bytes: number) => pace(bytes, signal) }),
    });
    found[result]++;
    if (result !== "right") log("a scrub found a copy that is not right", { sha256, disk: disk.path, result });
    lacking ||= result !== "right";
  }
  if (lacking) onMissing();
}

/** The furthest of what the disks remember. A file that cannot be read is none: then more is read than needed. */
async function load({ store }: Deps): Promise<ScrubHistory> {
  const found = await Promise.all(store.healthy().map(loadFrom));
  return found.flatMap((it) => it ?? []).toSorted((a, b) => latest(b) - latest(a))[0] ?? NO_SCRUBS;
}

const latest = ({ endedAtMs, running }: ScrubHistory): number =>
  Math.max(endedAtMs.light ?? 0, endedAtMs.deep ?? 0, running?.startedAtMs ?? 0);

async function loadFrom(disk: Disk): Promise<ScrubHistory | undefined> {
  try {
    const bytes = await disk.run(`read ${SCRUB_FILE}`, (fs) => fs.readWhole(join(disk.path, SCRUB_FILE)));
    if (bytes === undefined) return undefined;
    const { endedAtMs, running } = saved.parse(JSON.parse(bytes.toString("utf8")));
    return { endedAtMs: { light: endedAtMs.light, deep: endedAtMs.deep }, running };
  } catch {
    return undefined; // damaged, or the disk failed, which the disk itself has told
  }
}

async function save({ store, log }: Deps, history: ScrubHistory): Promise<void> {
  const results = await Promise.allSettled(
    store.healthy().map((disk) => replaceFile(disk, SCRUB_FILE, { v: 1, ...history })),
  );
  for (const result of results)
    if (result.status === "rejected")
      log("how far the scrub is could not be written", { error: String(result.reason) });
}
