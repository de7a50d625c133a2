/** Artifacts and depots as the API shows them. */
import { SCRUB_KINDS } from "../depot/scrub-plan.ts";
import { nodeStatus } from "../depot/node-status.ts";
import { z } from "zod";
import { reason, time, timeOrNull } from "./common.ts";

export const verification = z.object({
  identity: z.string().describe("workflow that signed, with its tag"),
  issuer: z.string(),
  repository: z.string(),
  logIndex: z.string(),
  signedAt: z.array(z.string()),
});

export const artifact = z.object({
  id: z.uuid(),
  distribution: z.string(),
  version: z.string(),
  platform: z.string().describe("os_arch in Go's names"),
  fileName: z.string(),
  sha256: z.string().nullable(),
  sizeBytes: z.number().nullable(),
  sourceUrl: z.string(),
  state: z
    .enum(["fetching", "verified", "failed", "removed"])
    .describe("removed: it was verified once and depots keep it no longer; a fetch or an upload brings it back"),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  verification: verification.nullable(),
  revoked: z.string().nullable().describe("the reason, when the release was revoked"),
  copies: z.array(z.object({ node: z.string(), disks: z.int(), answering: z.boolean() })),
  staged: z.array(z.string()).describe("hosts whose staging has it"),
  replication: z
    .enum(["none", "lost", "partial", "degraded", "replicated"])
    .describe("replicated: every answering node has it, and at least minCopies; degraded: fewer nodes than minCopies"),
});
export const artifactList = z.object({ items: z.array(artifact) });

export const depot = z.object({
  nodeId: z.string(),
  zone: z.string(),
  controlUrl: z.string(),
  readUrl: z.string(),
  state: z.enum(["active", "draining", "removed"]),
  answering: z.boolean(),
  answeredAt: timeOrNull,
  error: z.string().nullable(),
  generation: z.number().nullable(),
  disks: z.array(z.object({ path: z.string(), state: z.string(), freeBytes: z.number().nullable() })),
  copies: z.int(),
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
export const depotList = z.object({
  generation: z.number().describe("of the wanted set"),
  wanted: z.int(),
  minCopies: z.int(),
  items: z.array(depot),
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
export const adoptBody = z.strictObject({ reason }).optional();
export const adopted = z.object({ nodeId: z.string(), adopted: z.literal(true) });

export const scrubBody = z.strictObject({ kind: z.enum(SCRUB_KINDS).default("deep") }).optional();
export const depotStatus = nodeStatus.extend({ nodeId: z.string() });
