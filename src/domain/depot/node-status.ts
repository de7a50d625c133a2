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
export const nodeStatus = z.object({
  config: z
    .object({ generation: z.int(), wanted: z.int(), complete: z.int(), partial: z.int(), missing: z.int() })
    .nullable()
    .describe("null: it has none, or none that is trusted. Counts of artifacts: on every disk, on some, on none"),
  problem: z.string().nullable().describe("why the configuration on its disks is not used; then it deletes nothing"),
  disks: z.array(z.object({ path: z.string(), state: z.string(), freeBytes: z.number().nullable() })),
  transfers: z.array(z.object({ sha256: z.string(), bytes: z.int() })).describe("into this node, running now"),
  scrub: scrubStatus,
});
export type ScrubStatus = z.infer<typeof scrubStatus>;
export type NodeStatus = z.infer<typeof nodeStatus>;

/** Some lines for a person. */
export function describeNode(name: string, { config, problem, disks, transfers, scrub }: NodeStatus): string {
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
  ].join("\n");
}

const describeConfig = ({
  generation,
  wanted,
  complete,
  partial,
  missing,
}: NonNullable<NodeStatus["config"]>): string =>
  `generation ${generation}, ${wanted} artifacts: ${complete} on every disk, ${partial} on some, ${missing} missing`;

const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(2)} GiB`;
