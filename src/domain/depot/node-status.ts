/** How one depot stands, as it says itself, and in words. */
import { z } from "zod";
import { SCRUB_KINDS } from "./scrub-plan.ts";

const time = z.iso.datetime().nullable();
export const scrubStatus = z.object({
  running: z.object({ kind: z.enum(SCRUB_KINDS), startedAt: time, checked: z.int(), of: z.int() }).nullable(),
  lightEndedAt: time,
  deepEndedAt: time,
  found: z
    .object({ right: z.int(), wrong: z.int(), missing: z.int(), unreadable: z.int() })
    .describe("copies since the node started"),
});
/** `corrupt`: a copy had wrong bytes and was put aside. `repaired`: a disk got it again from its sibling. */
export const FINDING_KINDS = ["corrupt", "repaired"] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];
export const finding = z.object({
  n: z.int().describe("counted since the process started"),
  at: z.iso.datetime(),
  kind: z.enum(FINDING_KINDS),
  sha256: z.string(),
  disk: z.string(),
});
export type Finding = z.infer<typeof finding>;
export const findingsMark = z.object({ life: z.string().describe("of the process"), count: z.int() });
export type FindingsMark = z.infer<typeof findingsMark>;
export const nodeStatus = z.object({
  config: z
    .object({ generation: z.int(), wanted: z.int(), complete: z.int(), partial: z.int(), missing: z.int() })
    .nullable()
    .describe("null: it has none, or none that is trusted. Counts of artifacts: on every disk, on some, on none"),
  problem: z.string().nullable().describe("why the configuration on its disks is not used; then it deletes nothing"),
  disks: z.array(z.object({ path: z.string(), state: z.string(), freeBytes: z.number().nullable() })),
  transfers: z.array(z.object({ sha256: z.string(), bytes: z.int() })).describe("into this node, running now"),
  scrub: scrubStatus,
  findings: findingsMark
    .extend({ recent: z.array(finding) })
    .optional()
    .describe("what was wrong on its disks; left out by nodes of earlier versions"),
});
export type ScrubStatus = z.infer<typeof scrubStatus>;
export type NodeStatus = z.infer<typeof nodeStatus>;

/** Some lines for a person. */
export function describeNode(name: string, { config, problem, disks, transfers, scrub, findings }: NodeStatus): string {
  const { running, lightEndedAt, deepEndedAt, found } = scrub;
  return [
    `${name}: ${problem ?? (config === null ? "no configuration yet" : describeConfig(config))}`,
    ...disks.map(
      ({ path, state, freeBytes }) => `disk ${path}: ${state}${freeBytes === null ? "" : `, ${gib(freeBytes)} free`}`,
    ),
    ...transfers.map(({ sha256, bytes }) => `coming in: ${sha256.slice(0, 12)}, ${gib(bytes)} so far`),
    running === null
      ? "scrub: none runs"
      : `scrub: ${running.kind}, ${running.checked} of ${running.of} artifacts since ${running.startedAt ?? "?"}`,
    `  sizes last compared: ${lightEndedAt ?? "never"}; all bytes last read: ${deepEndedAt ?? "never"}`,
    `  copies since the node started: ${found.right} right, ${found.wrong} wrong, ${found.missing} missing, ${found.unreadable} unreadable`,
    ...(findings?.recent ?? [])
      .slice(-FINDINGS_SHOWN)
      .map(({ at, kind, sha256, disk }) => `  ${at} ${kind}: ${sha256.slice(0, 12)} on ${disk}`),
  ].join("\n");
}

const FINDINGS_SHOWN = 5;

const describeConfig = ({
  generation,
  wanted,
  complete,
  partial,
  missing,
}: NonNullable<NodeStatus["config"]>): string =>
  `generation ${generation}, ${wanted} artifacts: ${complete} on every disk, ${partial} on some, ${missing} missing`;

const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(2)} GiB`;
