/**
 * Controls of rollouts for the API: judged, committed, audited, and answered after the workflow took them. `pause` and
 * `abort` are committed here first, so they hold whether or not a worker lives; the others take effect in the workflow.
 */
import {
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  type Client,
} from "@temporalio/client";
import { ApplicationFailure } from "@temporalio/common";
import { failure, isFailure, type Failure } from "../domain/errors.ts";
import { judgeControl, needsReason } from "../domain/rollout/judge-control.ts";
import { isFinalState } from "../domain/rollout/phases.ts";
import { audit } from "../store/audit.ts";
import { applyControl, recallControl, type Applied, type ControlCall } from "../store/controls.ts";
import type { Pool } from "../store/database.ts";
import { readControlView, readRollout } from "../store/rollouts.ts";
import {
  controlUpdates,
  QUEUES,
  refresh,
  WORKFLOW_IDS,
  type Control,
  type ControlAnswer,
} from "../workflows/messages.ts";

export type ControlInput = { reason?: string | undefined; wave?: string | undefined };
/** 202 with `pending`: the hold is committed and stops every offer, the workflow follows when it can. */
export type ControlResult = { status: 200 | 202; answer: ControlAnswer & { pending?: true } };
export type RolloutControls = {
  /**
   * Throws failures: `not_found` (404), `control_conflict` (409), `reason_required` (400), `control_unanswered` (503;
   * repeating with the same key is safe). Refusals are audited.
   */
  control(
    fleet: string,
    n: number,
    control: Control,
    input: ControlInput,
    principal: string,
    idempotencyKey: string,
  ): Promise<ControlResult>;
};
export type ControlDeps = {
  pool: Pool;
  client: Client;
  now: () => Date;
  /** How long a worker has to answer. Design: ten seconds. */
  deadlineMs?: number;
};

const DEADLINE_MS = 10_000;
const START_AGAIN_MS = 200;

export function createRolloutControls(deps: ControlDeps): RolloutControls {
  return {
    control: async (fleet, n, control, { reason, wave }, principal, key) => {
      const call: ControlCall = { fleet, n, control, reason, wave, principal, key, via: "api" };
      const before = await recallControl(deps.pool, call);
      if (before === undefined) await refuseEarly(deps, call);
      if (control === "pause" || control === "abort") return holdFirst(deps, call);
      if (n === 0) return controlCatchUp(deps, call);
      if (before?.outcome === "applied" && !before.reopened) return { status: 200, answer: answerOf(before) };
      const row = await readRollout(deps.pool, fleet, n);
      const isFinished = row !== undefined && isFinalState(row.state);
      if (before !== undefined || isFinished) return startAgain(deps, call);
      return { status: 200, answer: await ask(deps, call) };
    },
  };
}

/** What no row can make right later is refused at once, and audited. */
async function refuseEarly({ pool, now }: ControlDeps, call: ControlCall): Promise<void> {
  const { fleet, n, control, reason = "" } = call;
  const row = await readRollout(pool, fleet, n);
  if (row === undefined)
    throw await refused(pool, call, failure("not_found", { what: `rollout ${fleet}/${n}` }), now());
  const verdict = judgeControl(await readControlView(pool, row), call);
  if (verdict.do === "refuse") {
    const error =
      verdict.code === "reason_required"
        ? failure("reason_required", { action: control })
        : failure("control_conflict", { control, because: verdict.because });
    throw await refused(pool, call, error, now());
  }
  if (verdict.do === "apply" && needsReason(control, row.holds) && reason.trim() === "")
    throw await refused(pool, call, failure("reason_required", { action: control }), now());
}

async function refused(
  pool: Pool,
  { fleet, n, control, principal }: ControlCall,
  error: Failure,
  at: Date,
): Promise<Failure> {
  const object = `rollout/${fleet}/${n}`;
  const detail = { because: error.message };
  await audit(
    pool,
    { principal, action: `rollout.${control}`, object, outcome: "refused", code: error.code, detail },
    at,
  );
  return error;
}

const answerOf = (applied: Extract<Applied, { outcome: "applied" }>): ControlAnswer => ({
  changed: applied.changed,
  state: applied.state,
  message: applied.message,
});

/** The hold is committed before anybody is asked: from then on nothing is sent. */
async function holdFirst(deps: ControlDeps, call: ControlCall): Promise<ControlResult> {
  const applied = await applyControl(deps.pool, call, deps.now());
  if (applied.outcome === "refused") throw asFailure(call, applied);
  const answer = answerOf(applied);
  // A standing catch-up has a workflow only while there is something to do: its row is all there is to hold.
  if (!applied.changed || (call.n === 0 && call.control === "pause")) return { status: 200, answer };
  try {
    await (call.n === 0 ? wakeCatchUp(deps, call) : ask(deps, call));
    return { status: 200, answer };
  } catch (error) {
    if (!isFailure(error)) throw error;
    const row = await readRollout(deps.pool, call.fleet, call.n);
    if (row !== undefined && isFinalState(row.state)) return { status: 200, answer: { ...answer, state: row.state } };
    return { status: 202, answer: { ...answer, pending: true } };
  }
}

/**
 * A standing catch-up is its row; its workflow runs while there is something to do, and is woken or started again. Without
 * Temporal the row stands, the planner starts the workflow later, and repeating is safe.
 */
async function controlCatchUp(deps: ControlDeps, call: ControlCall): Promise<ControlResult> {
  const applied = await applyControl(deps.pool, call, deps.now());
  if (applied.outcome === "refused") throw asFailure(call, applied);
  await wakeCatchUp(deps, call);
  return { status: 200, answer: answerOf(applied) };
}

async function wakeCatchUp({ client, deadlineMs = DEADLINE_MS }: ControlDeps, call: ControlCall): Promise<void> {
  const { fleet, control } = call;
  try {
    await client.withDeadline(Date.now() + deadlineMs, () =>
      client.workflow.signalWithStart("catchUp", {
        workflowId: WORKFLOW_IDS.catchUp(fleet),
        taskQueue: QUEUES.control,
        args: [{ fleet }],
        signal: refresh,
        signalArgs: [{ cause: control }],
        staticSummary: `fleet ${fleet}: hosts that came late`,
      }),
    );
  } catch (error) {
    throw unanswered(call, error);
  }
}

const asFailure = (
  { control, fleet, n }: ControlCall,
  { code, because }: Extract<Applied, { outcome: "refused" }>,
): Failure =>
  code === "not_found"
    ? failure("not_found", { what: `rollout ${fleet}/${n}` })
    : code === "reason_required"
      ? failure("reason_required", { action: control })
      : failure("control_conflict", { control, because });

/** Asks the workflow, with the key as the id of the update: asking again gets the same answer. */
async function ask(deps: ControlDeps, call: ControlCall): Promise<ControlAnswer> {
  const { fleet, n, control, reason, wave, principal, key } = call;
  const { client } = deps;
  const workflowId = n === 0 ? WORKFLOW_IDS.catchUp(fleet) : WORKFLOW_IDS.rollout(fleet, n);
  const request = {
    by: principal,
    ...(reason === undefined ? {} : { reason }),
    ...(wave === undefined ? {} : { wave }),
  };
  try {
    return await client.withDeadline(Date.now() + (deps.deadlineMs ?? DEADLINE_MS), () =>
      client.workflow.getHandle(workflowId).executeUpdate(controlUpdates[control], { args: [request], updateId: key }),
    );
  } catch (error) {
    throw unanswered(call, error);
  }
}

function unanswered(call: ControlCall, error: unknown): unknown {
  const { control } = call;
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure) {
    const because = error.cause.message;
    return error.cause.type === "reason_required"
      ? failure("reason_required", { action: control })
      : failure("control_conflict", { control, because });
  }
  const isAway =
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    error instanceof WorkflowNotFoundError ||
    isGrpcServiceError(error) ||
    (error instanceof Error && isGrpcServiceError(error.cause));
  return isAway ? failure("control_unanswered", { control }, error) : error;
}

/** A finished rollout runs again: the next run of the same workflow id, from the database. */
async function startAgain(deps: ControlDeps, call: ControlCall): Promise<ControlResult> {
  const { fleet, n, control } = call;
  const applied = await applyControl(deps.pool, call, deps.now());
  if (applied.outcome === "refused") throw asFailure(call, applied);
  const untilMs = Date.now() + (deps.deadlineMs ?? DEADLINE_MS);
  const row = await readRollout(deps.pool, fleet, n);
  const to = row?.version === null || row === undefined ? "configuration" : `v${row.version}`;
  for (;;) {
    try {
      await deps.client.withDeadline(untilMs, () =>
        deps.client.workflow.start("rollout", {
          workflowId: WORKFLOW_IDS.rollout(fleet, n),
          taskQueue: QUEUES.control,
          args: [{ fleet, n }],
          memo: { run: row?.run ?? 1 },
          staticSummary: `fleet ${fleet} → ${to}, run ${row?.run ?? 1} (${control})`,
        }),
      );
      return { status: 200, answer: answerOf(applied) };
    } catch (error) {
      // The run before is still closing, or it is this one, from a repeated request.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw unanswered(call, error);
      if (await isRunOf(deps.client, fleet, n, row?.run ?? 1)) return { status: 200, answer: answerOf(applied) };
      if (Date.now() >= untilMs) throw failure("control_unanswered", { control }, error);
      await new Promise((resolve) => setTimeout(resolve, START_AGAIN_MS));
    }
  }
}

/** Is the workflow that runs now the one of this run of the rollout? */
async function isRunOf(client: Client, fleet: string, n: number, run: number): Promise<boolean> {
  const { memo, status } = await client.workflow.getHandle(WORKFLOW_IDS.rollout(fleet, n)).describe();
  return status.name === "RUNNING" && memo?.["run"] === run;
}
