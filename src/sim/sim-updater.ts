/**
 * The updater of a simulated host: judges offers by the rules of the real one, really downloads and hashes, walks the real
 * steps, and only the installing is none. Its collector then restarts and reports the new version.
 */
import { setTimeout as wait } from "node:timers/promises";
import { UPDATER_CAPABILITIES, type Step } from "../domain/brand.ts";
import { beginAttempt, stepDone, stepFailed, supervisorStopping, withdraw } from "../domain/update/attempt.ts";
import type { Attempt, EndedAttempt, RunningAttempt, Versions } from "../domain/update/attempt.ts";
import { beginReport, closeInterrupted, isOutcome, reportTransition } from "../domain/update/health-report.ts";
import { decideOffer, type OfferedPackage, type OfferedSet } from "../domain/update/offer.ts";
import { asStepError, CLASS_OF_STEP, failureClassOf, StepError } from "../domain/update/step-error.ts";
import { normalizeVersion } from "../domain/update/version.ts";
import type { CuttableClient } from "../protocol/agent-client.ts";
import type { PackagesAvailable, ServerToAgent } from "../protocol/messages.ts";
import { toSet } from "../protocol/offered-set.ts";
import { decideAttempt, decideReaction, latencyMs, stepMs, type AttemptPlan } from "./behaviour.ts";
import { nowNanos, startedNanos } from "./clock.ts";
import { createConnection } from "./connect.ts";
import type { SimContext } from "./context.ts";
import type { Answer, HostMemory } from "./memory.ts";
import { headersOf, refusalOf, urlOf } from "./offered.ts";
import type { HostProfile } from "./plan.ts";
import { updaterState } from "./report.ts";
import type { SimCollector } from "./sim-collector.ts";

type Running = {
  set: OfferedSet;
  attempt: RunningAttempt;
  plan: AttemptPlan;
  offer: PackagesAvailable;
  abort: AbortController;
};

export class SimUpdater {
  private readonly host: HostProfile;
  private readonly memory: HostMemory;
  private readonly context: SimContext;
  private readonly collector: SimCollector;
  private readonly client: CuttableClient;
  private readonly startNanos = startedNanos();
  private running: Running | undefined;
  private waiting: PackagesAvailable | undefined;
  private offers = 0;

  constructor(host: HostProfile, memory: HostMemory, context: SimContext, collector: SimCollector) {
    this.host = host;
    this.memory = memory;
    this.context = context;
    this.collector = collector;
    if (memory.attempt !== undefined) this.closeStale(memory.attempt);
    collector.onRenamed = () => this.client.update(["agentDescription"]);
    this.client = createConnection(context, host, "websocket", {
      instanceUid: memory.updaterUid,
      capabilities: BigInt(UPDATER_CAPABILITIES),
      state: () => updaterState(host, memory, context.endpoint, this.startNanos, this.running !== undefined),
      onMessage: (message) => this.receive(message),
    });
  }

  get connected(): boolean {
    return this.client.connected;
  }

  /** The step that it is at. */
  get step(): Step | undefined {
    return this.running?.attempt.step;
  }

  start(): void {
    this.client.start();
  }

  cut(forMs: number): void {
    this.client.cut(forMs);
  }

  async stop(): Promise<void> {
    await this.client.stop();
  }

  /** An attempt that was cut off by the end of the simulator. */
  private closeStale(attempt: NonNullable<HostMemory["attempt"]>): void {
    if (isOutcome(attempt.status)) return;
    const error = "interrupted by a restart of the updater";
    this.memory.attempt = closeInterrupted(attempt, error, nowNanos());
    this.memory.outcomes.failed += 1;
    this.memory.lastFailure = error;
    if (this.memory.answer !== undefined)
      this.memory.answer = { ...this.memory.answer, status: "installFailed", error };
  }

  private receive(message: ServerToAgent): void {
    if (message.agentIdentification !== undefined) {
      this.memory.updaterUid = this.client.instanceUid;
      this.context.memory.changed();
    }
    const { packagesAvailable: offer } = message;
    if (offer === undefined) return;
    const lateMs = latencyMs(this.host, (this.offers += 1));
    if (lateMs === 0) this.follow(offer);
    else this.begin(wait(lateMs, undefined, { signal: this.context.signal }).then(() => this.follow(offer)));
  }

  private follow(offer: PackagesAvailable): void {
    const set = toSet(offer);
    const { memory, running } = this;
    const version = normalizeVersion(set.packages[0]?.version ?? "");
    const reaction = decideReaction(this.host, memory.attempts + 1, version);
    if (reaction === "silent") return;
    if (reaction === "vanish") return this.vanish();
    const decision = decideOffer(set, {
      running: running && { set: running.set, supervisorStopped: running.attempt.supervisorStopped },
      installed: memory.installed,
      backoffOf: (hash) => this.backoffOf(hash),
    });
    switch (decision.do) {
      case "refresh_token":
        if (running !== undefined) running.offer = offer;
        return;
      case "withdraw":
      case "queue":
        this.waiting = offer;
        if (decision.do === "withdraw") running?.abort.abort();
        return;
      case "forget":
        memory.installed = undefined;
        memory.answer = undefined;
        return this.tell();
      case "refuse":
        memory.lastFailure = decision.because;
        return this.answer(set, "installFailed", decision.because);
      case "back_off":
        return this.answer(set, "installFailed", `${decision.cause}; not before ${decision.notBefore}`);
      case "confirm":
        return this.answer(set, "installed", "");
      case "begin":
        this.beginAttempt(set, decision.offered, offer);
    }
  }

  private backoffOf(hash: string): { cause: string; notBefore: string } | undefined {
    const entry = this.memory.backoff[hash];
    if (entry === undefined || entry.untilMs <= Date.now()) return undefined;
    return { cause: entry.cause, notBefore: new Date(entry.untilMs).toISOString() };
  }

  private beginAttempt(set: OfferedSet, offered: OfferedPackage, offer: PackagesAvailable): void {
    const versions = { version: normalizeVersion(offered.version) ?? "0.0.0", from: this.memory.version };
    const plan = decideAttempt(this.host, (this.memory.attempts += 1), versions.version);
    this.memory.attempt = beginReport(versions, nowNanos());
    this.running = { set, attempt: beginAttempt(), plan, offer, abort: new AbortController() };
    this.answer(set, "downloading", "");
    this.begin(this.finish(this.running, offered, versions));
  }

  private async finish(running: Running, offered: OfferedPackage, versions: Versions): Promise<void> {
    const ended = await this.walk(running, offered, versions);
    const { memory } = this;
    this.running = undefined;
    memory.outcomes[ended.outcome] += 1;
    if (ended.outcome === "succeeded") {
      const { packageHash } = offered;
      if (versions.from !== versions.version) memory.previousVersion = versions.from;
      memory.installed = { packageHash, allPackagesHash: running.set.allPackagesHash };
      memory.lastFailure = "";
      this.answer(running.set, "installed", "");
    } else {
      const cause = ended.cause ?? "";
      memory.lastFailure = cause;
      if (!["withdrawn", "policy_refused"].includes(failureClassOf(cause) ?? ""))
        memory.backoff[offered.contentHash] = { cause, untilMs: Date.now() + this.context.failedRetryBackoffMs };
      this.answer(running.set, "installFailed", cause);
    }
    const next = this.waiting;
    this.waiting = undefined;
    if (next !== undefined) this.follow(next);
  }

  /** From step to step until the attempt has ended. */
  private async walk(running: Running, offered: OfferedPackage, versions: Versions): Promise<EndedAttempt> {
    for (;;) {
      const { step } = running.attempt;
      let next: Attempt;
      let cause: string | undefined;
      try {
        if (!running.attempt.supervisorStopped) running.abort.signal.throwIfAborted();
        await this.doStep(step, running, offered, versions);
        next = stepDone(running.attempt, versions);
      } catch (error) {
        this.context.signal.throwIfAborted();
        const taken = running.abort.signal.aborted ? withdraw(running.attempt) : undefined;
        cause = taken?.cause ?? asStepError(error, step).message;
        next = taken ?? stepFailed(running.attempt, cause, versions);
      }
      this.memory.attempt = reportTransition(
        this.memory.attempt ?? beginReport(versions, nowNanos()),
        next,
        nowNanos(),
        cause,
      );
      if (next.kind === "ended") return next;
      running.attempt = next;
      this.answer(running.set, next.step === "downloading" ? "downloading" : "installing", "");
    }
  }

  private async doStep(step: Step, running: Running, offered: OfferedPackage, versions: Versions): Promise<void> {
    const { memory, context, collector } = this;
    if (step === "downloading") await this.download(running, offered);
    if (step === "installing") running.attempt = supervisorStopping(running.attempt);
    if (step === "restarting") await collector.restartService(versions.version);
    if (step === "rolling_back") await collector.restartService(versions.from);
    const signal = running.attempt.supervisorStopped
      ? context.signal
      : AbortSignal.any([context.signal, running.abort.signal]);
    await wait(stepMs(this.host, memory.attempts, step), undefined, { signal });
    const { failsAt, rollbackFails } = running.plan;
    if (failsAt?.step === step) throw new StepError(failsAt.failureClass ?? CLASS_OF_STEP[step], failsAt.text);
    if (step === "rolling_back" && rollbackFails)
      throw new StepError(CLASS_OF_STEP[step], `scripted fault rollback_failed at ${step}`);
  }

  /** Policy first, then the archive, then its digest: as on a real host. */
  private async download(running: Running, offered: OfferedPackage): Promise<void> {
    const { memory, context } = this;
    const url = urlOf(running.offer);
    const refusal = refusalOf(offered.version, memory, url, context.allowedUrlPrefixes);
    if (refusal !== undefined) throw new StepError("policy_refused", refusal);
    if (this.host.download === "hash") return;
    const signal = AbortSignal.any([context.signal, running.abort.signal]);
    const sha256 = await context.download(url, () => headersOf(running.offer), signal);
    if (sha256 !== offered.contentHash)
      throw new StepError("verification", `the archive is ${sha256}, the offer says ${offered.contentHash}`);
  }

  private answer(set: OfferedSet, status: Answer["status"], error: string): void {
    const [offered] = set.packages;
    this.memory.answer = {
      allPackagesHash: set.allPackagesHash,
      packageHash: offered?.packageHash ?? "",
      offeredVersion: offered?.version ?? "",
      status,
      error,
    };
    this.tell();
  }

  private tell(): void {
    this.context.memory.changed();
    this.client.update(["health", "packageStatuses"]);
  }

  private vanish(): void {
    this.begin(Promise.all([this.stop(), this.collector.stop()]));
  }

  private begin(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (!this.context.signal.aborted) this.context.log.warn({ error: String(error) }, "a simulated updater failed");
    });
  }
}
