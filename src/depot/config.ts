/** The configuration of a depot: one strict YAML file (design/server-config, row `myriarch-depot`). */
import { resolve } from "node:path";
import { z } from "zod";
import { formatIssue, readStrictYaml } from "../domain/config/strict-yaml.ts";
import { durationMs, sizeBytes } from "../domain/config/units.ts";
import { failure } from "../domain/errors.ts";

const text = z.string().min(1, "must not be empty");
const listen = z
  .string()
  .regex(/^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+):\d{1,5}$/, "write host:port, for example 127.0.0.1:7801")
  .transform((value) => {
    const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(value) ?? [];
    return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
  });
const listener = z.strictObject({
  listen,
  tokenFile: text,
  tls: z.strictObject({ certFile: text, keyFile: text }).optional(),
});
/** Slower, and a piece would wait longer than its reader does. */
const rate = sizeBytes.refine((bytes) => bytes >= 1024 ** 2, "must be at least 1MiB (per second)");
const schema = z.strictObject({
  nodeId: text,
  zone: z.string().default(""),
  disks: z.array(text).min(1, "needs at least one folder"),
  control: listener,
  read: listener,
  trashGrace: durationMs.prefault("10m"),
  reconcileInterval: durationMs.prefault("60s"),
  diskTimeout: durationMs.prefault("30s"),
  /** Transfers into this node at a time, and readers of it. As many more wait for their turn, everybody else is told. */
  slots: z.int().min(1).default(16),
  readSlots: z.int().min(4).default(64),
  /** Without a byte in either direction for so long, a connection ends. */
  idleTimeout: durationMs.refine((ms) => ms >= 1_000, "must be at least 1s").prefault("60s"),
  /** Bytes per second, of all transfers together; absent: as fast as it goes. */
  bandwidth: z.strictObject({ in: rate.optional(), out: rate.optional() }).prefault({}),
  /** A listener for metrics without a token; absent: they are on the control listener only, behind its token. */
  metrics: z.strictObject({ listen }).optional(),
  /** How often copies are read again: sizes, and all bytes; and how fast at most, in bytes per second. */
  scrub: z
    .strictObject({
      lightEvery: durationMs.prefault("24h"),
      deepEvery: durationMs.prefault("7d"),
      bytesPerSecond: sizeBytes.refine((bytes) => bytes >= 1_024, "must be at least 1KiB").prefault("64MiB"),
    })
    .prefault({}),
});

export type DepotSettings = z.output<typeof schema>;

/** Parses the text of the file named `file`. Fails with `config_invalid`, which lists every issue with its place. */
export function parseDepotConfig(content: string, file: string): DepotSettings {
  const read = readStrictYaml(schema, content, file);
  if (!read.ok) throw failure("config_invalid", { issues: read.issues.map(formatIssue).join("\n") });
  const { value, locate } = read;
  const folders = value.disks.map((disk) => resolve(disk));
  const twice = folders.findIndex((folder, i) => folders.indexOf(folder) !== i);
  if (twice < 0) return { ...value, disks: folders };
  const at = { severity: "error", ...locate(["disks", twice]), path: `disks.${twice}` } as const;
  throw failure("config_invalid", { issues: formatIssue({ ...at, message: "the same folder is named twice" }) });
}
