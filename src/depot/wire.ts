/**
 * What a depot and its callers say to each other (contract's five calls and the depot read call; paths and status codes
 * of the original, design/depot-anchors 1.1). Every write carries the generation and, in `X-Epoch`, the installation.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { canonicalSet } from "../domain/depot/config.ts";
import { findingsMark } from "../domain/depot/node-status.ts";
import { SCRUB_KINDS } from "../domain/depot/scrub-plan.ts";

export const PATHS = {
  config: "/artifacts-config",
  list: "/artifacts",
  put: (sha256: string): string => `/artifacts/${sha256}`,
  partial: (sha256: string): string => `/artifacts/${sha256}/partial`,
  copy: (sha256: string): string => `/artifacts/${sha256}/copy-from-depot`,
  suspect: (sha256: string): string => `/artifacts/${sha256}/suspect`,
  job: (id: string): string => `/jobs/${id}`,
  adopt: "/adopt",
  scrub: "/scrub",
  status: "/status",
  health: "/healthz",
  read: (sha256: string): string => `/artifact/sha256/${sha256}`,
} as const;
export const EPOCH_HEADER = "x-epoch";
/** On a read: `install` (for a host that is waiting for it) or `replicate`, which is what is meant without it. */
export const CLASS_HEADER = "x-transfer-class";

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const generation = z.int().nonnegative();
const epoch = z.uuid();
const peers = z.array(z.url()).max(2_000);

/** The whole configuration. */
export const configBody = z
  .strictObject({
    epoch,
    generation,
    artifacts: z.array(digest).max(100_000),
    sizes: z.array(z.int().nonnegative()).optional(),
    peers,
    /**
     * Pinned or in use: some of `artifacts`, in any order. A later configuration that drops one of them is refused with
     * `depot_held`, unless one before it (of a higher generation than this) did not hold it any more, or it names it in
     * `released`. Within a generation holds are only added. Absent: what is held stays held.
     */
    held: z.array(digest).max(100_000).optional(),
    /** What was held and is dropped on purpose. Names that are not held do no harm. */
    released: z.array(digest).max(100_000).optional(),
  })
  .refine(({ artifacts, held = [] }) => isSubset(held, artifacts), "`held` names an artifact that is not wanted")
  .refine((c) => c.sizes === undefined || c.sizes.length === c.artifacts.length, "one size per artifact");
/** The short form: "you have this already" (answered 428 when the node does not). */
export const confirmBody = z.strictObject({
  epoch,
  generation,
  digest,
  peers,
  /** `setDigest` of the held artifacts, when the sender says what is held. */
  heldDigest: digest.optional(),
});

export const listQuery = z.union([
  z.object({ format: z.literal("bitmap"), digest }),
  z.object({ format: z.undefined().optional(), digest: z.undefined().optional() }),
]);
export const listAnswer = z.object({
  epoch,
  generation,
  /** Copies per digest over the healthy disks; a digest without a copy is not listed. */
  list: z.record(digest, z.int().positive()),
  disks: z.array(z.object({ path: z.string(), state: z.string(), freeBytes: z.number().nullable() })),
  /** How far its list of findings is; who knows less asks for its status. */
  findings: findingsMark.optional(),
});
/** The same in two bits per artifact, in the order of the set that `?digest=` names (`packCopies`, base64). */
export const bitsAnswer = listAnswer.omit({ list: true }).extend({ bits: z.base64() });
/** A put whose predecessor was cut goes on after the bytes that `partial` says are there. */
export const putQuery = z.object({ offset: z.coerce.number().int().nonnegative().default(0) });
export const partialAnswer = z.object({ bytes: z.int().nonnegative() });
export const putAnswer = z.object({ datasets: z.int(), successful_writes: z.int() });
export const copyBody = z.strictObject({ depot_base_url: z.url() });
export const copyAnswer = z.object({ job: z.string() });
export const jobAnswer = z.object({
  id: z.string(),
  sha256: digest,
  state: z.enum(["running", "done", "failed"]),
  bytes: z.int(),
  datasets: z.int(),
  successful_writes: z.int(),
  code: z.string().optional(),
  message: z.string().optional(),
});
/** `released`: held artifacts that a person lets go, for a node whose holds nobody can name any more. */
export const adoptBody = z.strictObject({ epoch, released: z.array(digest).max(100_000).default([]) });
export const scrubBody = z.strictObject({ kind: z.enum(SCRUB_KINDS) });
export const problemAnswer = z.object({ code: z.string(), message: z.string(), detail: z.unknown().optional() });

/** Copies of one artifact on the disks of a node, after all their bytes were read; wrong ones were put aside. */
export const suspectAnswer = z.object({ right: z.int(), wrong: z.int(), missing: z.int(), unreadable: z.int() });

export type Suspected = z.infer<typeof suspectAnswer>;
export type DepotList = z.infer<typeof listAnswer>;
export type DepotBits = z.infer<typeof bitsAnswer>;
export type PutAnswer = z.infer<typeof putAnswer>;
export type Job = z.infer<typeof jobAnswer>;

function isSubset(some: readonly string[], all: readonly string[]): boolean {
  const known = new Set(all);
  return some.every((sha256) => known.has(sha256));
}

/** Identity of a set of digests, whatever their order. */
export const setDigest = (artifacts: readonly string[]): string =>
  createHash("sha256").update(canonicalSet(artifacts)).digest("hex");
