/** Artifacts as the API shows them, and what one depot answers. */
import { z } from "zod";
import { REPLICATION_WORDS } from "../artifact/replication-word.ts";
import { nodeStatus } from "../depot/node-status.ts";
import { SCRUB_KINDS } from "../depot/scrub-plan.ts";
import { reason, timeOrNull } from "./common.ts";

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
  copies: z.array(
    z.object({
      node: z.string(),
      disks: z.int(),
      of: z.int().describe("disks of that node that are well"),
      answering: z.boolean(),
    }),
  ),
  staged: z.array(z.string()).describe("hosts whose staging has it"),
  replication: z
    .enum(REPLICATION_WORDS)
    .describe(
      "replicated: every answering node that takes copies has it on every well disk, and at least minCopies nodes have it; degraded: fewer nodes than minCopies; partial: enough, but one lacks it; healing: the same, and transfers run; unreachable: only nodes that do not answer have it",
    ),
  since: timeOrNull.describe("since when it is called so, as the last execution saw it"),
  counts: z
    .object({ have: z.int(), lacking: z.int(), silent: z.int(), staged: z.int(), pending: z.int() })
    .describe(
      "nodes that answer and have it, or lack it; that do not answer and had it; hosts that staged it; transfers to do",
    ),
});
export const artifactList = z.object({ items: z.array(artifact) });

export const adoptBody = z.strictObject({ reason }).nullish();
export const adopted = z.object({ nodeId: z.string(), adopted: z.literal(true) });

export const scrubBody = z.strictObject({ kind: z.enum(SCRUB_KINDS).default("deep") }).nullish();
export const depotStatus = nodeStatus.extend({ nodeId: z.string() });
