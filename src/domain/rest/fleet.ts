/** Fleets as the API shows them: what Git wants, what is offered, what runs, as three values. */
import { z } from "zod";
import { time, timeOrNull } from "./common.ts";
import { ROLLOUT_STATES } from "../rollout/phases.ts";

const perVersion = z.array(z.object({ version: z.string(), hosts: z.int() }));

export const fleet = z.object({
  name: z.string(),
  description: z.string().nullable(),
  source: z.object({ file: z.string(), line: z.int() }).nullable().describe("null: Git has no such fleet any more"),
  commit: z.string().nullable(),
  wants: z
    .object({ distribution: z.string(), version: z.string() })
    .nullable()
    .describe("null: Git manages the configuration only"),
  policy: z.string().nullable(),
  agents: z.int(),
  connected: z.int(),
  healthy: z.int(),
  onWanted: z.int().describe("collectors that report the wanted version themselves"),
  configPending: z.int().describe("collectors that have not reported the wanted configuration as applied"),
  renderErrors: z.int(),
  runs: perVersion.describe("reported by the collectors"),
  offered: perVersion.describe("open package offers"),
  configsOffered: z.int(),
  held: z
    .object({ n: z.int(), because: z.string(), at: z.string(), sentence: z.string() })
    .nullable()
    .describe("a change that is not planned again until someone changes their mind"),
  proven: z.object({ version: z.string().nullable(), commit: z.string().nullable() }),
  rollout: z
    .object({ n: z.int(), state: z.enum(ROLLOUT_STATES), reason: z.string(), createdAt: time, finishedAt: timeOrNull })
    .nullable()
    .describe("the newest one"),
});
export const fleets = z.object({ items: z.array(fleet), unassigned: z.int() });
