/**
 * The attempt as the wire carries it: the component `dev.myriarch.update` in the updater's health (contract, "Update
 * health component"), and back. State, not events: each report holds every step, so a lost one does no harm.
 */
import { BRAND, STEPS, type Step } from "../brand.ts";
import { OUTCOMES, type Attempt, type AttemptOutcome, type Versions } from "./attempt.ts";
import { boundedText } from "./step-error.ts";
import { normalizeVersion, withV } from "./version.ts";

export { failureClassOf } from "./step-error.ts";

type StepStatus = "running" | "done" | "failed" | "skipped";
export type StepReport = {
  step: Step;
  status: StepStatus;
  /** Nanoseconds since 1970 as decimal text; "0" when unknown. */
  startNanos: string;
  statusNanos: string;
  error: string;
};

/** One attempt: what the host stores and reports, and what the server stores in `agents.update_attempt`. */
export type UpdateAttempt = {
  /** Offered version, without `v`. */
  version: string;
  /** Active before the attempt, without `v`; empty if none. */
  from: string;
  status: Step | AttemptOutcome;
  /** False only when the attempt failed and the rollback failed or was impossible. */
  healthy: boolean;
  error: string;
  startNanos: string;
  statusNanos: string;
  steps: StepReport[];
};

/** What OpAMP calls ComponentHealth; the decoded type of the protocol satisfies it. */
export type ComponentHealthLike = {
  healthy: boolean;
  startTimeUnixNano: bigint;
  lastError: string;
  status: string;
  statusTimeUnixNano: bigint;
  componentHealthMap: Map<string, ComponentHealthLike>;
};

export function beginReport({ version, from }: Versions, nowNanos: bigint): UpdateAttempt {
  const now = nowNanos.toString();
  const first: StepReport = { step: "downloading", status: "running", startNanos: now, statusNanos: now, error: "" };
  return {
    version,
    from,
    status: "downloading",
    healthy: true,
    error: "",
    startNanos: now,
    statusNanos: now,
    steps: [first],
  };
}

/** The report after a transition. `cause` is the error of the step that was left, if it failed. */
export function reportTransition(
  report: UpdateAttempt,
  next: Attempt,
  nowNanos: bigint,
  cause?: string,
): UpdateAttempt {
  const now = nowNanos.toString();
  const left = report.steps.map((step): StepReport =>
    step.status === "running"
      ? { ...step, status: cause === undefined ? "done" : "failed", statusNanos: now, error: boundedText(cause ?? "") }
      : step,
  );
  if (next.kind === "running") {
    if (report.status === next.step) return report;
    const begun: StepReport = { step: next.step, status: "running", startNanos: now, statusNanos: now, error: "" };
    return { ...report, status: next.step, statusNanos: now, steps: [...left, begun] };
  }
  return {
    ...report,
    status: next.outcome,
    healthy: next.healthy,
    error: boundedText(next.cause ?? ""),
    statusNanos: now,
    steps: withSkipped(left),
  };
}

/** Steps that never ran are `skipped` once the attempt ended, except the rollback: it is there only if it happened. */
function withSkipped(steps: StepReport[]): StepReport[] {
  const never = STEPS.filter((step) => step !== "rolling_back" && steps.every((one) => one.step !== step));
  const skipped = never.map((step): StepReport => ({
    step,
    status: "skipped",
    startNanos: "0",
    statusNanos: "0",
    error: "",
  }));
  return [...steps, ...skipped].toSorted((a, b) => STEPS.indexOf(a.step) - STEPS.indexOf(b.step));
}

export const isOutcome = (status: UpdateAttempt["status"]): status is AttemptOutcome =>
  (OUTCOMES as readonly string[]).includes(status);

/** What a report says when its host program was cut off in the middle: `failed`, "interrupted". Ended ones stay. */
export function closeInterrupted(report: UpdateAttempt, text: string, nowNanos: bigint, healthy = true): UpdateAttempt {
  if (isOutcome(report.status)) return report;
  return reportTransition(report, { kind: "ended", outcome: "failed", cause: text, healthy }, nowNanos, text);
}

/** What a report says when the swap of its attempt was taken back outside the attempt: by the repair of a later start. */
export function closeRolledBack(report: UpdateAttempt, cause: string, text: string, nowNanos: bigint): UpdateAttempt {
  const before = { ...report, steps: report.steps.filter(({ step }) => step !== "rolling_back") };
  const rolling = reportTransition(
    report.status === "rolling_back" ? { ...before, status: "health_check" } : before,
    { kind: "running", step: "rolling_back", supervisorStopped: true, cause },
    nowNanos,
    cause,
  );
  return reportTransition(rolling, { kind: "ended", outcome: "rolled_back", cause: text, healthy: true }, nowNanos);
}

const child = (status: string): ComponentHealthLike => ({
  healthy: true,
  startTimeUnixNano: 0n,
  lastError: "",
  status,
  statusTimeUnixNano: 0n,
  componentHealthMap: new Map(),
});

/** The component for the updater's health. */
export function toComponentHealth(attempt: UpdateAttempt): ComponentHealthLike {
  const children = new Map<string, ComponentHealthLike>([
    [BRAND.versionChild, child(withV(attempt.version))],
    [BRAND.fromChild, child(withV(attempt.from))],
  ]);
  for (const step of attempt.steps)
    children.set(`${BRAND.stepPrefix}${step.step}`, {
      healthy: step.status !== "failed",
      startTimeUnixNano: BigInt(step.startNanos),
      lastError: boundedText(step.error),
      status: step.status,
      statusTimeUnixNano: BigInt(step.statusNanos),
      componentHealthMap: new Map(),
    });
  return {
    healthy: attempt.healthy,
    startTimeUnixNano: BigInt(attempt.startNanos),
    lastError: boundedText(attempt.error),
    status: attempt.status,
    statusTimeUnixNano: BigInt(attempt.statusNanos),
    componentHealthMap: children,
  };
}

const STEP_STATUSES: readonly string[] = ["running", "done", "failed", "skipped"] satisfies StepStatus[];

/**
 * Reads what an updater reported; undefined when it is not a report of an attempt (unknown phase, version that is none).
 * A hostile host can say what it likes: texts are bounded, unknown steps are passed over.
 */
export function readUpdateComponent(component: ComponentHealthLike): UpdateAttempt | undefined {
  const phases: readonly string[] = [...STEPS, ...OUTCOMES];
  const version = normalizeVersion(component.componentHealthMap.get(BRAND.versionChild)?.status ?? "");
  if (!phases.includes(component.status) || version === undefined) return undefined;
  const steps = STEPS.flatMap((step): StepReport[] => {
    const reported = component.componentHealthMap.get(`${BRAND.stepPrefix}${step}`);
    if (reported === undefined || !STEP_STATUSES.includes(reported.status)) return [];
    return [
      {
        step,
        status: reported.status as StepStatus,
        startNanos: reported.startTimeUnixNano.toString(),
        statusNanos: reported.statusTimeUnixNano.toString(),
        error: boundedText(reported.lastError),
      },
    ];
  });
  return {
    version,
    from: normalizeVersion(component.componentHealthMap.get(BRAND.fromChild)?.status ?? "") ?? "",
    status: component.status as UpdateAttempt["status"],
    healthy: component.healthy,
    error: boundedText(component.lastError),
    startNanos: component.startTimeUnixNano.toString(),
    statusNanos: component.statusTimeUnixNano.toString(),
    steps,
  };
}
