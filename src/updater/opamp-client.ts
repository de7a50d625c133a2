/**
 * The updater towards its server: takes offers one at a time, runs the attempts and keeps health and package statuses
 * current. What to do with an offer is decided in `domain/update/offer.ts`.
 */
import { UPDATER_CAPABILITIES } from "../domain/brand.ts";
import { decideOffer, type OfferDecision, type OfferedPackage, type OfferedSet } from "../domain/update/offer.ts";
import { isOutcome, type UpdateAttempt } from "../domain/update/health-report.ts";
import type { Activity } from "../domain/update/step-limits.ts";
import { failureClassOf } from "../domain/update/step-error.ts";
import type { AgentClient, AgentClientOptions } from "../protocol/agent-client.ts";
import type { PackagesAvailable, ServerToAgent } from "../protocol/messages.ts";
import { toSet } from "../protocol/offered-set.ts";
import { describeUpdater, readCollectorUid } from "./attributes.ts";
import type { AttemptTracker } from "./attempt-tracker.ts";
import type { Backoff } from "./backoff.ts";
import type { UpdaterSettings } from "./config.ts";
import type { DownloadHeaders } from "./download.ts";
import type { HostDeps, Offer } from "./install.ts";
import { answerOf, closeStale, headersOf } from "./offered-set.ts";
import { healthOf, packageStatusesOf, type Progress } from "./report-status.ts";
import { beginTracking, runAttempt } from "./run-attempt.ts";
import type { PackageAnswer, PackageMemory, State } from "./state.ts";

export type UpdaterDeps = {
  settings: UpdaterSettings;
  /** Of this program. */
  version: string;
  host: HostDeps;
  state: State;
  backoff: Backoff;
  instanceUid: string;
  /** Of a container's image. */
  imageCollectorVersion?: string | undefined;
  /** There is nothing to do (any more). */
  atRest?: (() => void) | undefined;
  connect: (options: Omit<AgentClientOptions, "endpoint" | "headers" | "tls" | "log">) => AgentClient;
};

type Running = {
  set: OfferedSet;
  offered: OfferedPackage;
  tracker: AttemptTracker;
  headers: DownloadHeaders;
  ended: Promise<void>;
};

/** Why an attempt ended that was cut off by our own stop. */
const STOPPED = "interrupted: the updater was stopped";
const MISSING_UID_READ_MS = 5_000;
const PROGRESS_EVERY_MS = 2_000;
/** Failures after which the same content may be tried at once: nothing was wrong with it. */
const NOT_REMEMBERED: ReadonlySet<string | undefined> = new Set(["withdrawn", "policy_refused"]);

export class Updater {
  private readonly deps: UpdaterDeps;
  private readonly client: AgentClient;
  private readonly stopping = new AbortController();
  private readonly startNanos: bigint;
  private memory: PackageMemory = { installed: null, answer: null, lastFailure: "" };
  private report: UpdateAttempt | undefined;
  private activeVersion = "";
  private collectorUid: string | undefined;
  private running: Running | undefined;
  private waiting: PackagesAvailable | undefined;
  private progress: Progress | undefined;
  private progressAtMs = 0;
  private movedAtMs = 0;
  /** Offers are judged one after the other. */
  private turn: Promise<void> = Promise.resolve();

  constructor(deps: UpdaterDeps) {
    this.deps = deps;
    this.startNanos = deps.host.clock.nowNanos();
    this.client = deps.connect({
      instanceUid: deps.instanceUid,
      capabilities: BigInt(UPDATER_CAPABILITIES),
      state: () => ({
        agentDescription: describeUpdater(
          deps.settings,
          deps.version,
          this.client.instanceUid,
          this.collectorUid,
          deps.imageCollectorVersion,
        ),
        health: healthOf({
          startNanos: this.startNanos,
          statusNanos: BigInt(this.report?.statusNanos ?? this.startNanos),
          updating: this.running !== undefined,
          lastFailure: this.memory.lastFailure,
          attempt: this.report,
        }),
        packageStatuses: packageStatusesOf(this.memory, this.activeVersion, this.progress),
      }),
      onMessage: async (message) => await this.receive(message),
    });
  }

  /** Restores what was known, then connects. The host must have been recovered. */
  async start(): Promise<void> {
    const { state, host, settings } = this.deps;
    const stored = await state.attempt();
    this.report = stored.state === "ok" ? stored.value : undefined;
    this.memory = closeStale(await state.packages(), this.report);
    await state.storePackages(this.memory);
    this.activeVersion = (await host.layout.active())?.version ?? "";
    this.collectorUid = await readCollectorUid(settings.supervisor.storageDir);
    this.client.start();
    this.background(this.watchCollectorUid());
    this.deps.atRest?.();
  }

  /** Takes back what can be taken back, waits for what cannot, says goodbye. */
  async stop(): Promise<void> {
    this.waiting = undefined;
    this.running?.tracker.withdraw(new Error(STOPPED));
    this.stopping.abort(new Error(STOPPED));
    await this.turn;
    await this.running?.ended;
    await this.deps.backoff.store();
    await this.client.stop();
  }

  /** What the running attempt does; undefined without one. */
  get activity(): Activity | undefined {
    if (this.running === undefined || this.report === undefined) return undefined;
    const { status } = this.report;
    return { step: isOutcome(status) ? "closing" : status, movedAtMs: this.movedAtMs };
  }

  /** Does `work` unless an attempt runs; until it is done no offer is judged. */
  async whileIdle(work: () => Promise<void>): Promise<void> {
    const mine = this.turn.then(async () => {
      if (this.running === undefined && !this.stopping.signal.aborted) await work();
    });
    this.turn = mine.catch(() => undefined); // whoever asked for it hears of the failure
    await mine;
  }

  private async receive(message: ServerToAgent): Promise<void> {
    if (message.agentIdentification !== undefined)
      await this.deps.state.storeInstanceUid(message.agentIdentification.newInstanceUid);
    const offer = message.packagesAvailable;
    if (offer !== undefined) await this.judge(offer);
  }

  private async judge(offer: PackagesAvailable): Promise<void> {
    const mine = this.turn.then(async () => {
      if (!this.stopping.signal.aborted) await this.follow(offer);
    });
    this.turn = mine.catch((error: unknown) => {
      this.deps.host.log.error({ error: String(error) }, "an offer could not be handled");
    });
    await this.turn;
  }

  private async follow(offer: PackagesAvailable): Promise<void> {
    const set = toSet(offer);
    const { running } = this;
    const decision = decideOffer(set, {
      running: running && { set: running.set, supervisorStopped: running.tracker.supervisorStopped },
      installed: running === undefined ? ((await this.intactInstalled()) ?? undefined) : undefined,
      backoffOf: (hash) => this.deps.backoff.of(hash),
    });
    this.deps.host.log.info({ decision: decision.do, versions: set.packages.map(({ version }) => version) }, "offer");
    await this.act(decision, set, offer);
  }

  private async act(decision: OfferDecision, set: OfferedSet, offer: PackagesAvailable): Promise<void> {
    switch (decision.do) {
      case "refresh_token":
        if (this.running !== undefined) this.running.headers = headersOf(offer);
        return;
      case "withdraw":
      case "queue":
        this.waiting = offer;
        if (decision.do === "withdraw") this.running?.tracker.withdraw();
        return;
      case "forget":
        return await this.remember({
          ...this.memory,
          installed: null,
          answer: { allPackagesHash: set.allPackagesHash, packages: [] },
        });
      case "refuse":
        this.memory = { ...this.memory, lastFailure: decision.because };
        return await this.answer(set, "installFailed", decision.because);
      case "back_off":
        return await this.answer(set, "installFailed", `${decision.cause}; not before ${decision.notBefore}`);
      case "confirm":
        if (this.memory.installed !== null)
          this.memory = {
            ...this.memory,
            installed: { ...this.memory.installed, allPackagesHash: set.allPackagesHash },
          };
        return await this.answer(set, "installed", "");
      case "begin":
        return await this.begin(set, decision.offered, offer);
    }
  }

  /** The installed set, as long as the disk agrees with it. */
  private async intactInstalled(): Promise<PackageMemory["installed"] | undefined> {
    const { installed } = this.memory;
    if (installed === null) return undefined;
    const active = await this.deps.host.layout.active();
    const { marker } = active ?? {};
    const agrees =
      marker?.version === installed.version &&
      marker.archiveSha256 === installed.archiveSha256 &&
      marker.binarySha256 === active?.binarySha256;
    return agrees ? installed : undefined;
  }

  private async begin(set: OfferedSet, offered: OfferedPackage, packages: PackagesAvailable): Promise<void> {
    const { host, state } = this.deps;
    const file = packages.packages.get(offered.name)?.file;
    const offer: Offer = {
      versionText: offered.version,
      url: file?.downloadUrl ?? "",
      headers: () => this.running?.headers ?? headersOf(packages),
      contentHash: offered.contentHash,
      signature: file?.signature ?? new Uint8Array(),
    };
    this.progress = undefined;
    const tracker = await beginTracking(offer, host, {
      clock: host.clock,
      log: host.log,
      store: async (report) => await state.storeAttempt(report),
      changed: (report) => this.changed(report, set),
    });
    const startedMs = host.clock.monotonicMs();
    const running: Running = { set, offered, tracker, headers: headersOf(packages), ended: Promise.resolve() };
    this.running = running;
    await this.answer(set, "downloading", "");
    const onProgress = (bytes: number, of: number | undefined) => this.noteProgress(bytes, of, startedMs);
    running.ended = this.finish(running, runAttempt(offer, tracker, { ...host, onProgress }));
    this.background(running.ended);
  }

  private changed(report: UpdateAttempt, set: OfferedSet): void {
    this.report = report;
    this.movedAtMs = this.deps.host.clock.monotonicMs();
    if (isOutcome(report.status)) return; // told together with the answer, when everything is stored
    const status = report.status === "downloading" ? "downloading" : "installing";
    this.memory = { ...this.memory, answer: answerOf(set, status, "") };
    this.client.update(["health", "packageStatuses"]);
  }

  private async finish(running: Running, attempt: Promise<UpdateAttempt>): Promise<void> {
    const { set, offered } = running;
    const report = await attempt;
    this.report = report;
    this.activeVersion = (await this.deps.host.layout.active())?.version ?? "";
    this.running = undefined;
    if (report.status === "succeeded") {
      const { contentHash: archiveSha256, packageHash } = offered;
      const installed = { version: report.version, archiveSha256, packageHash, allPackagesHash: set.allPackagesHash };
      this.memory = { ...this.memory, installed, lastFailure: "" };
      await this.answer(set, "installed", "");
    } else {
      this.memory = { ...this.memory, lastFailure: report.error };
      await this.rememberFailure(offered.contentHash, report.error);
      await this.answer(set, "installFailed", report.error);
    }
    const next = this.waiting;
    this.waiting = undefined;
    if (next !== undefined) await this.judge(next);
    else this.deps.atRest?.();
  }

  private async rememberFailure(contentHash: string, error: string): Promise<void> {
    if (contentHash === "" || NOT_REMEMBERED.has(failureClassOf(error)) || error.includes(STOPPED)) return;
    await this.deps.backoff.remember(contentHash, error);
  }

  /** Answers for every package of the set, stores the answer and sends it. */
  private async answer(set: OfferedSet, status: PackageAnswer["status"], error: string): Promise<void> {
    await this.remember({ ...this.memory, answer: answerOf(set, status, error) });
  }

  private async remember(memory: PackageMemory): Promise<void> {
    this.memory = memory;
    try {
      await this.deps.state.storePackages(memory);
    } catch (error) {
      this.deps.host.log.error({ error: String(error) }, "the package statuses could not be stored");
    }
    this.client.update(["health", "packageStatuses"]);
  }

  private noteProgress(bytes: number, of: number | undefined, startedMs: number): void {
    const now = this.deps.host.clock.monotonicMs();
    this.movedAtMs = now;
    if (of === undefined || now - this.progressAtMs < PROGRESS_EVERY_MS) return;
    this.progressAtMs = now;
    this.progress = { percent: (100 * bytes) / of, bytesPerSecond: (1_000 * bytes) / Math.max(1, now - startedMs) };
    this.client.update(["packageStatuses"]);
  }

  /** The file appears with the supervisor's first start, and changes when the server renames the collector. */
  private async watchCollectorUid(): Promise<void> {
    const { stateReadInterval, storageDir } = this.deps.settings.supervisor;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const known = this.collectorUid !== undefined;
      const waitMs = known ? stateReadInterval : Math.min(stateReadInterval, MISSING_UID_READ_MS);
      await this.deps.host.clock.sleep(waitMs, signal);
      const found = await readCollectorUid(storageDir);
      if (found !== undefined && found !== this.collectorUid) {
        this.collectorUid = found;
        this.client.update(["agentDescription"]);
      }
      if (this.deps.host.clock.bootId === undefined) await this.deps.backoff.store();
    }
  }

  private background(work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (!this.stopping.signal.aborted) this.deps.host.log.error({ error: String(error) }, "background work failed");
    });
  }
}
