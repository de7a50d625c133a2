/**
 * Takes the collector of the image when `decideSeed` says so, by the same journal, markers and health check as an attempt:
 * killed at any moment, the next start brings the volume to the old or the new version. A seed that does not become
 * healthy is taken back and remembered by its bytes.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { decideSeed, type Collector, type ImagePrecedence } from "../../domain/update/image-seed.ts";
import { asStepError, StepError } from "../../domain/update/step-error.ts";
import type { AttemptJournal } from "../attempt-journal.ts";
import type { StagedBinary } from "../install.ts";
import { STAGING_PREFIX } from "../layout.ts";
import { preflight } from "../preflight.ts";
import { discard } from "../run-attempt.ts";
import { clearJournal, rollBack, swap, type SwapWatch } from "../swap.ts";
import { imageBinary, readImage, type ImageDeps } from "./image.ts";

export type SeedDeps = ImageDeps & { precedence: ImagePrecedence };

export type Seeding =
  | { do: "kept"; because: string }
  | { do: "seeded"; version: string }
  /** Nothing on the volume changed, or it is back where it was; `restored` false: the error says what did not work. */
  | { do: "failed"; error: string; restored: boolean };
/** `imageVersion` is undefined when the image has no collector that can be used. */
export type SeedOutcome = { imageVersion: string | undefined; seeding: Seeding };

/**
 * Afterwards the volume is on one version: the image's, or the one before. The host must have been recovered. A broken
 * image never keeps a volume from running what it has. Throws only when `signal` ends the wait; then the journal stays.
 */
export async function seedFromImage(deps: SeedDeps, signal: AbortSignal): Promise<SeedOutcome> {
  const { host, memory } = deps;
  let image: Collector | undefined;
  try {
    image = await readImage(deps);
    const active = await host.layout.active();
    const known = await memory.of(image.binarySha256);
    const { minimumVersion } = host.policy;
    const history = known?.history ?? "new";
    const decision = decideSeed({ image, active, precedence: deps.precedence, minimumVersion, history });
    host.log.info({ image: image.version, active: active?.version, ...decision }, "the image's collector was judged");
    if (decision.do === "seed") return { imageVersion: image.version, seeding: await seed(image, deps, signal) };
    if (active?.binarySha256 === image.binarySha256 && history !== "ran") await memory.note(image, "ran");
    return { imageVersion: image.version, seeding: { do: "kept", because: decision.because } };
  } catch (error) {
    signal.throwIfAborted();
    const { message } = asStepError(error, "installing");
    host.log.error({ error: message }, "the image's collector cannot be used");
    return { imageVersion: image?.version, seeding: { do: "failed", error: message, restored: true } };
  }
}

/** Where the swap is; what has to be undone follows from it. */
class Watch implements SwapWatch {
  stopped = false;
  private stepsDone = 0;
  private readonly signal: AbortSignal;
  constructor(signal: AbortSignal) {
    this.signal = signal;
  }
  /** Activated, started, healthy: from then on nothing is taken back. */
  get healthy(): boolean {
    return this.stepsDone >= 3;
  }
  stopping(): void {
    this.signal.throwIfAborted();
    this.stopped = true;
  }
  async stepDone(): Promise<void> {
    this.stepsDone++;
  }
}

async function seed(image: Collector, deps: SeedDeps, signal: AbortSignal): Promise<Seeding> {
  const { host, memory } = deps;
  const before = { versions: await host.layout.installed(), journal: await host.journal.read() };
  const watch = new Watch(signal);
  try {
    await swap(await stage(image, deps), watch, host, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!watch.healthy) {
      const { message } = asStepError(error, watch.stopped ? "health_check" : "installing");
      host.log.error({ version: image.version, error: message }, "the image's collector failed");
      if (watch.stopped) return await takeBack(image, message, deps, signal);
      await undo(image, before, deps);
      return { do: "failed", error: message, restored: true };
    }
    host.log.error({ error: String(error) }, "tidying up after the seed failed"); // the next start looks again
  }
  await memory.note(image, "ran");
  return { do: "seeded", version: image.version };
}

/** Copies and tries the image's binary beside the active one. The volume is changed by nothing but a staging folder. */
async function stage(image: Collector, deps: SeedDeps): Promise<StagedBinary> {
  const { files, layout, clock, log, preflight: checks } = deps.host;
  const folder = join(layout.versions, `${STAGING_PREFIX}${randomBytes(6).toString("hex")}`);
  const binaryPath = join(folder, layout.settings.binary);
  await files.makeFolder(folder);
  await files.copyDurably(imageBinary(deps), binaryPath, 0o755);
  if ((await files.hash(binaryPath)) !== image.binarySha256)
    throw new StepError("install", "the copy of the image's collector differs from the image");
  const { timeoutMs, ...more } = checks;
  await preflight({ binaryPath, version: image.version, ...more }, clock, log, timeoutMs);
  // the image is what the operator chose to run: its bytes need no signature, only to be the ones that were tried
  return { ...image, folder, archiveSha256: "", source: "image" } as StagedBinary;
}

type Before = { versions: readonly string[]; journal: Awaited<ReturnType<AttemptJournal["read"]>> };

/** The volume did not change: nor may its versions, and the journal of an earlier update that still is to be mended. */
async function undo({ version }: Collector, before: Before, { host }: SeedDeps): Promise<void> {
  if (before.journal.state === "open") await host.journal.write(before.journal.entry);
  else await host.journal.clear();
  if (!before.versions.includes(version)) await host.layout.drop(version);
  await discard(host);
}

/** Back to the version before, which is remembered before the journal goes. On an empty volume there is none. */
async function takeBack(image: Collector, cause: string, deps: SeedDeps, signal: AbortSignal): Promise<Seeding> {
  const { host, memory } = deps;
  const found = await host.journal.read();
  if (found.state !== "open" || found.entry.previous === null)
    return { do: "failed", error: `${cause}; there is no previous version to roll back to`, restored: false };
  const { previous } = found.entry;
  try {
    await rollBack({ ...found.entry, previous, cause }, host, signal);
    await memory.note(image, "taken_back", cause);
    await clearJournal(host.journal, host.log);
  } catch (error) {
    signal.throwIfAborted();
    const { message } = asStepError(error, "rolling_back");
    host.log.error({ version: previous.version, error: message }, "the way back failed; the next start tries again");
    return { do: "failed", error: `${cause}; rollback to v${previous.version} failed: ${message}`, restored: false };
  }
  host.log.warn({ version: previous.version, cause }, "the image's collector was taken back");
  return { do: "failed", error: `${cause}; rolled back to v${previous.version}`, restored: true };
}
