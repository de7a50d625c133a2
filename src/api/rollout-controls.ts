/** Controls of rollouts for the API: judged, committed, audited, and answered after the workflow took them. */
import type { Client } from "@temporalio/client";
import type { Pool } from "../store/database.ts";
import type { Control, ControlAnswer } from "../workflows/messages.ts";

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
export type ControlDeps = { pool: Pool; client: Client; now: () => Date };

export declare function createRolloutControls(deps: ControlDeps): RolloutControls;
