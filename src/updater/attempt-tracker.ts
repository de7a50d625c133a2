/**
 * The attempt that runs: where it is, its report, and the one switch that takes it back. Every change is stored and told
 * before the next step begins. A report that cannot be stored (full disk) never keeps the host from being mended.
 */
import {
  beginAttempt,
  stepDone,
  stepFailed,
  supervisorStopping,
  WITHDRAWN,
  type Attempt,
  type RunningAttempt,
  type Versions,
} from "../domain/update/attempt.ts";
import { beginReport, reportTransition, type UpdateAttempt } from "../domain/update/health-report.ts";
import { asStepError, StepError } from "../domain/update/step-error.ts";
import type { Clock } from "./clock.ts";
import type { Log } from "./host/service.ts";

export type TrackerDeps = {
  clock: Clock;
  log: Log;
  store: (report: UpdateAttempt) => Promise<void>;
  /** Called after each change, stored or not. */
  changed: (report: UpdateAttempt) => void;
};

export class AttemptTracker {
  readonly versions: Versions;
  report: UpdateAttempt;
  attempt: Attempt = beginAttempt();
  private readonly deps: TrackerDeps;
  private readonly withdrawal = new AbortController();

  constructor(versions: Versions, deps: TrackerDeps) {
    this.versions = versions;
    this.deps = deps;
    this.report = beginReport(versions, deps.clock.nowNanos());
  }

  /** Aborted when the attempt is taken back. Nothing may listen to it after the stop. */
  get signal(): AbortSignal {
    return this.withdrawal.signal;
  }

  get supervisorStopped(): boolean {
    return this.attempt.kind === "running" && this.attempt.supervisorStopped;
  }

  async begun(): Promise<void> {
    await this.tell();
  }

  /** Ends the attempt at its next moment before the stop. False when it is too late for that. */
  withdraw(reason: Error = new StepError("withdrawn", WITHDRAWN)): boolean {
    if (this.attempt.kind === "ended" || this.attempt.supervisorStopped) return false;
    this.withdrawal.abort(reason);
    return true;
  }

  /** The point of no return. Throws when the attempt was taken back; otherwise nothing takes it back any more. */
  stopping(): void {
    this.signal.throwIfAborted();
    this.attempt = supervisorStopping(this.running());
  }

  async stepDone(): Promise<void> {
    if (!this.supervisorStopped) this.signal.throwIfAborted();
    await this.move(stepDone(this.running(), this.versions));
  }

  /** Steps that were not needed: the version is active already. */
  async succeedEarly(): Promise<void> {
    this.signal.throwIfAborted();
    await this.move({ kind: "ended", outcome: "succeeded", healthy: true });
  }

  async stepFailed(error: unknown): Promise<void> {
    const running = this.running();
    const cause = asStepError(error, running.step);
    this.deps.log.error({ step: running.step, error: cause.message, cause: describe(cause.cause) }, "the step failed");
    await this.move(stepFailed(running, cause.message, this.versions), cause.message);
  }

  private running(): RunningAttempt {
    if (this.attempt.kind === "ended") throw new Error("the attempt has ended");
    return this.attempt;
  }

  private async move(next: Attempt, cause?: string): Promise<void> {
    this.attempt = next;
    this.report = reportTransition(this.report, next, this.deps.clock.nowNanos(), cause);
    await this.tell();
  }

  private async tell(): Promise<void> {
    try {
      await this.deps.store(this.report);
    } catch (error) {
      this.deps.log.error({ error: String(error) }, "the attempt could not be stored");
    }
    this.deps.changed(this.report);
  }
}

/** For the log only: message and code, no stack of foreign libraries. */
function describe(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { code } = cause as NodeJS.ErrnoException;
  return `${cause.name}: ${cause.message}${code === undefined ? "" : ` (${code})`}`;
}
