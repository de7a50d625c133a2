/** What the activities of rollouts need. */
import { ApplicationFailure } from "@temporalio/common";
import type { Client } from "@temporalio/client";
import type { Logger } from "pino";
import type { Listener } from "../store/listen.ts";
import type { Pool } from "../store/database.ts";
import type { RolloutView } from "../store/rollout-state.ts";

export type RolloutDeps = {
  pool: Pool;
  listener: Listener;
  client: Client;
  now: () => Date;
  log: Pick<Logger, "info" | "warn" | "error">;
  /** Copies that an artifact needs before a wave starts; the contract's default when absent. */
  minCopies?: number;
};

/** A rollout that a workflow was started for has a row; if it is gone, no retry brings it back. */
export function mustView(view: RolloutView | undefined, fleet: string, n: number): RolloutView {
  if (view !== undefined) return view;
  throw ApplicationFailure.create({
    type: "not_found",
    message: `rollout ${fleet}/${n} does not exist`,
    nonRetryable: true,
  });
}
