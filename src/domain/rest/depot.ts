/** Depots as the API shows them: how they stand, what runs, why something is missing, and what a person does with them. */
import { z } from "zod";
import { reason, time, timeOrNull } from "./common.ts";

const disk = z.object({ path: z.string(), state: z.string(), freeBytes: z.number().nullable() });
export const depot = z.object({
  nodeId: z.string(),
  zone: z.string(),
  controlUrl: z.string(),
  readUrl: z.string(),
  state: z.enum(["active", "draining", "removed"]),
  drain: z.object({ by: z.string(), reason: z.string(), at: z.string() }).nullable(),
  answering: z.boolean(),
  answeredAt: timeOrNull,
  unansweredSince: timeOrNull,
  error: z.string().nullable(),
  generation: z.number().nullable(),
  disks: z.array(disk),
  copies: z.int().describe("as it listed them last"),
  have: z.int().describe("wanted artifacts that it has on a disk"),
  whole: z.int().describe("wanted artifacts that it has on every disk that is well"),
  want: z.int(),
  capacity: z
    .object({
      freeBytes: z.number().describe("of the well disk that has least"),
      missingBytes: z.number().describe("that each disk still gets of what is wanted now"),
      freeAfterBytes: z.number().describe("what remains then; negative: it does not fit"),
      releasesLeft: z
        .int()
        .nullable()
        .describe("releases of the present mean size that would still fit; null: no measure"),
    })
    .nullable()
    .describe("null: its disks are not known"),
});
export const execution = z.object({
  id: z.string(),
  cause: z.string(),
  generation: z.number(),
  state: z.enum(["running", "ended", "stale", "superseded"]),
  startedAt: time,
  finishedAt: timeOrNull,
  result: z.record(z.string(), z.unknown()).nullable(),
});
export const running = z.object({
  id: z.string(),
  cause: z.string(),
  startedAt: time,
  transfers: z.object({ pending: z.int(), done: z.int(), failed: z.int() }),
  retries: z.int(),
  bytes: z.object({ moved: z.number(), all: z.number() }),
  etaSeconds: z.number().nullable().describe("at the mean pace so far; null: nothing to measure by"),
  lastError: z.object({ node: z.string(), message: z.string() }).nullable(),
  nodes: z.array(z.object({ node: z.string(), pending: z.int(), failed: z.int(), leftBytes: z.number() })),
});
export const depotList = z.object({
  generation: z.number().describe("of the wanted set"),
  wanted: z.int(),
  minCopies: z.int(),
  items: z.array(depot),
  running: running.nullable().describe("transfers of the execution that runs now"),
  executions: z.array(execution).describe("newest first"),
});

const url = z.url({ protocol: /^https?$/ });
export const depotBody = z.strictObject({
  nodeId: z.string().regex(/^[A-Za-z0-9._-]{1,63}$/),
  zone: z.string().max(63).default(""),
  controlUrl: url,
  readUrl: url,
});
export const depotAdded = z.object({ nodeId: z.string(), changed: z.boolean() });

export const drainBody = z.strictObject({ reason: reason.optional() }).nullish();
export const drainAnswer = z.object({
  nodeId: z.string(),
  state: z.enum(["active", "draining"]),
  changed: z.boolean(),
  note: z.string().describe("what happens next"),
});
export const removeBody = z
  .strictObject({
    reason: reason.optional(),
    force: z.boolean().optional().describe("also when it does not answer, or something would be lost or rare"),
  })
  .nullish();
const cost = {
  lost: z.array(z.string()).describe("artifacts that nobody else is known to have"),
  rare: z.array(z.string()).describe("artifacts that others have, but too few that answer"),
};
export const depotRemoved = z.object({ nodeId: z.string(), ...cost });
export const depotExplanation = z.object({
  nodeId: z.string(),
  says: z.string(),
  lacks: z.int(),
  copies: z
    .array(z.object({ sha256: z.string(), artifacts: z.array(z.string()), why: z.string(), next: z.string() }))
    .describe("at most 100"),
  removal: z.object({ safe: z.boolean(), ...cost }).describe("what removing it now would cost"),
});

export const copyMatrix = z.object({
  nodes: z.array(z.string()),
  total: z.int().describe("wanted artifacts; at most 2,000 are listed, the newest"),
  rows: z.array(
    z.object({
      sha256: z.string(),
      artifacts: z.array(z.string()),
      cells: z
        .string()
        .describe("one character per node: # every disk that is well, + some, - none, ? it does not answer"),
    }),
  ),
});

export const historyQuery = z.object({
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  node: z.string().max(63).optional(),
  before: z
    .string()
    .regex(/^\d{1,18}$/)
    .optional()
    .describe("id of an entry: those before it"),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});
export const replicationHistory = z.object({
  items: z
    .array(
      z.object({
        id: z.string(),
        at: time,
        kind: z
          .enum([
            "degraded",
            "partial",
            "lost",
            "unreachable",
            "replicated",
            "healed",
            "corrupt",
            "repaired",
            "silent",
            "answering",
            "draining",
            "undrained",
            "removed",
          ])
          .describe(
            "of an artifact: degraded, partial, lost, unreachable, replicated, healed; of a copy on a node: corrupt, repaired; of a node: silent, answering, draining, undrained, removed",
          ),
        node: z.string().nullable(),
        sha256: z.string().nullable(),
        artifacts: z.array(z.string()),
        detail: z.record(z.string(), z.unknown()),
      }),
    )
    .describe("newest first; the newest 20,000 are kept"),
});
