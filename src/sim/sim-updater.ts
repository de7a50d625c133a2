/**
 * The updater of a simulated host: judges offers by the rules of the real one, really downloads and hashes, walks the real
 * steps, and only the installing is none. Its collector then restarts and reports the new version.
 */
import { setTimeout as wait } from "node:timers/promises";
import { BRAND, UPDATER_CAPABILITIES, type Step } from "../domain/brand.ts";
import { judgeUrl, serverEndpointAttribute } from "../domain/update/allowed-url.ts";
import { beginAttempt, stepDone, stepFailed, supervisorStopping, withdraw } from "../domain/update/attempt.ts";
import type { Attempt, EndedAttempt, RunningAttempt, Versions } from "../domain/update/attempt.ts";
import { judgeVersion } from "../domain/update/downgrade.ts";
import { beginReport, closeInterrupted, isOutcome, reportTransition } from "../domain/update/health-report.ts";
import { decideOffer, type OfferedPackage, type OfferedSet } from "../domain/update/offer.ts";
import { asStepError, CLASS_OF_STEP, failureClassOf, StepError } from "../domain/update/step-error.ts";
import { normalizeVersion } from "../domain/update/version.ts";
import { createAgentClient, type AgentClient, type AgentState } from "../protocol/agent-client.ts";
import { PACKAGE_TYPE, type PackagesAvailable, type ServerToAgent } from "../protocol/messages.ts";
import type { SimContext } from "./context.ts";
import { faultFor } from "./fault.ts";
import type { Answer, HostMemory } from "./memory.ts";
import { healthOf, packageStatusesOf } from "./report.ts";
import type { SimCollector } from "./sim-collector.ts";

type Running = {
  set: OfferedSet;
  attempt: RunningAttempt;
  offer: PackagesAvailable;
  abort: AbortController;
};

export class SimUpdater {
  private readonly memory: HostMemory;
  private readonly context: SimContext;
  private readonly collector: SimCollector;
  private readonly client: AgentClient;
  private readonly startNanos = nowNanos();
  private running: Running | undefined;
  private waiting: PackagesAvailable | undefined;

  constructor(memory: HostMemory, context: SimContext, collector: SimCollector) {
    this.memory = memory;
    this.context = context;
    this.collector = collector;
    if (memory.attempt !== undefined) this.closeStale(memory.attempt);
    collector.onRenamed = () => this.client.update(["agentDescription"]);
    this.client = createAgentClient({
      endpoint: context.endpoint,
      headers: context.headers,
      tls: context.tls,
      instanceUid: memory.updaterUid,
      capabilities: BigInt(UPDATER_CAPABILITIES),
      heartbeatIntervalMs: context.heartbeatMs,
      state: () => this.state(),
      onMessage: (message) => this.receive(message),
      log: context.log,
    });
  }

  get connected(): boolean {
    return this.client.connected;
  }

  start(): void {
    this.client.start();
  }

  async stop(): Promise<void> {
    await this.client.stop();
  }

  /** An attempt that was cut off by the end of the simulator. */
  private closeStale(attempt: NonNullable<HostMemory["attempt"]>): void {
    if (isOutcome(attempt.status)) return;
    const error = "interrupted by a restart of the updater";
    this.memory.attempt = closeInterrupted(attempt, error, nowNanos());
    this.memory.lastFailure = error;
    if (this.memory.answer !== undefined)
      this.memory.answer = { ...this.memory.answer, status: "installFailed", error };
  }

  private state(): AgentState {
    const { memory, context } = this;
    const { attributes } = BRAND;
    return {
      agentDescription: {
        identifyingAttributes: new Map([
          ["service.name", BRAND.updaterServiceName],
          ["service.version", "sim"],
          ["service.instance.id", memory.updaterUid],
        ]),
        nonIdentifyingAttributes: new Map([
          ["host.name", memory.name],
          ["os.type", context.os],
          ["host.arch", context.arch],
          [attributes.collectorUid, memory.collectorUid],
          [attributes.supervisorService, "opampsupervisor.service"],
          [attributes.installMethod, "binary"],
          [attributes.serverEndpoint, serverEndpointAttribute(context.endpoint)],
        ]),
      },
      health: healthOf(memory, this.startNanos, this.running !== undefined),
      packageStatuses: packageStatusesOf(memory),
    };
  }

  private receive(message: ServerToAgent): void {
    if (message.agentIdentification !== undefined) {
      this.memory.updaterUid = this.client.instanceUid;
      this.context.memory.changed();
    }
    if (message.packagesAvailable !== undefined) this.follow(message.packagesAvailable);
  }

  private follow(offer: PackagesAvailable): void {
    const set = toSet(offer);
    const { memory, running, context } = this;
    const version = normalizeVersion(set.packages[0]?.version ?? "");
    const fault = faultFor(context.faults, memory.name, version)?.kind;
    if (fault === "silent") return;
    if (fault === "vanish") return this.vanish();
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
        this.begin(set, decision.offered, offer);
    }
  }

  private backoffOf(hash: string): { cause: string; notBefore: string } | undefined {
    const entry = this.memory.backoff[hash];
    if (entry === undefined || entry.untilMs <= Date.now()) return undefined;
    return { cause: entry.cause, notBefore: new Date(entry.untilMs).toISOString() };
  }

  private begin(set: OfferedSet, offered: OfferedPackage, offer: PackagesAvailable): void {
    const versions = { version: normalizeVersion(offered.version) ?? "0.0.0", from: this.memory.version };
    this.memory.attempt = beginReport(versions, nowNanos());
    this.running = { set, attempt: beginAttempt(), offer, abort: new AbortController() };
    this.answer(set, "downloading", "");
    this.finish(this.running, offered, versions).catch((error: unknown) => {
      if (!this.context.signal.aborted) this.context.log.warn({ error: String(error) }, "a simulated updater failed");
    });
  }

  private async finish(running: Running, offered: OfferedPackage, versions: Versions): Promise<void> {
    const ended = await this.walk(running, offered, versions);
    const { memory } = this;
    this.running = undefined;
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
    const { memory, context } = this;
    if (step === "downloading") await this.download(running, offered);
    if (step === "installing") running.attempt = supervisorStopping(running.attempt);
    if (step === "restarting") await this.collector.restartService(versions.version);
    if (step === "rolling_back") await this.collector.restartService(versions.from);
    const signal = running.attempt.supervisorStopped
      ? context.signal
      : AbortSignal.any([context.signal, running.abort.signal]);
    await wait(context.stepMs, undefined, { signal });
    const fault = faultFor(context.faults, memory.name, versions.version);
    const failsAt = fault?.kind === "fail" ? fault.step : fault?.kind.startsWith("roll") ? "health_check" : undefined;
    if (step === failsAt || (step === "rolling_back" && fault?.kind === "rollback_failed"))
      throw new StepError(CLASS_OF_STEP[step], `scripted fault ${fault?.kind ?? ""} at ${step}`);
  }

  /** Policy first, then the archive, then its digest: as on a real host. */
  private async download(running: Running, offered: OfferedPackage): Promise<void> {
    const { memory, context } = this;
    const active = {
      version: memory.version,
      ...(memory.previousVersion === undefined ? {} : { previousVersion: memory.previousVersion }),
    };
    const url = running.offer.packages.get(BRAND.packageName)?.file?.downloadUrl ?? "";
    for (const verdict of [
      judgeVersion(offered.version, active, { allowDowngrade: false }),
      judgeUrl(url, context.allowedUrlPrefixes),
    ])
      if (!verdict.allowed) throw new StepError("policy_refused", verdict.because);
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
    Promise.all([this.stop(), this.collector.stop()]).catch((error: unknown) =>
      this.context.log.warn({ error: String(error) }, "a simulated host did not vanish cleanly"),
    );
  }
}

const nowNanos = (): bigint => BigInt(Date.now()) * 1_000_000n;
const hexOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex");

const toSet = ({ packages, allPackagesHash }: PackagesAvailable): OfferedSet => ({
  allPackagesHash: hexOf(allPackagesHash),
  packages: Array.from(packages, ([name, { type, version, file, hash }]) => ({
    name,
    topLevel: type === PACKAGE_TYPE.topLevel,
    version,
    contentHash: hexOf(file?.contentHash),
    packageHash: hexOf(hash),
  })),
});

const headersOf = (offer: PackagesAvailable): Record<string, string> =>
  Object.fromEntries(
    (offer.packages.get(BRAND.packageName)?.file?.headers ?? []).map(({ key, value }) => [key, value]),
  );
