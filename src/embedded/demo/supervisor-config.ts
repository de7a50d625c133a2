/**
 * Configuration of the stand-in supervisor: the keys of the real one's file, as far as they are used here, so that the
 * same file starts either. Keys that are not used are passed over.
 */
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { z } from "zod";
import { parseDuration } from "../../domain/gitops/duration.ts";

const duration = (otherwise: string) =>
  z
    .string()
    .default(otherwise)
    .transform((text, context) => {
      const ms = parseDuration(text);
      if (ms === undefined) context.addIssue({ code: "custom", message: `not a duration: ${text}` });
      return ms ?? 0;
    });
const texts = z.record(z.string(), z.string());

const schema = z.looseObject({
  server: z.looseObject({
    endpoint: z.url(),
    headers: texts.default({}),
    tls: z.looseObject({ ca_file: z.string().optional(), insecure_skip_verify: z.boolean().optional() }).optional(),
  }),
  capabilities: z.record(z.string(), z.boolean()).default({}),
  storage: z.looseObject({ directory: z.string().default("/var/lib/otelcol/supervisor") }).prefault({}),
  agent: z.looseObject({
    executable: z.string().min(1),
    /** Base configurations; names that begin with `$` stand for parts that the supervisor adds itself. */
    config_files: z.array(z.string()).default([]),
    args: z.array(z.string()).default([]),
    env: texts.default({}),
    description: z
      .looseObject({ identifying_attributes: texts.default({}), non_identifying_attributes: texts.default({}) })
      .prefault({}),
    config_apply_timeout: duration("5s"),
    bootstrap_timeout: duration("3s"),
  }),
  healthcheck: z.looseObject({ endpoint: z.string() }).optional(),
});
export type SupervisorConfig = z.output<typeof schema>;

/** Reads the file. `${env:NAME}` and `${NAME}` are replaced from the environment. Throws with the reason. */
export async function readSupervisorConfig(file: string): Promise<SupervisorConfig> {
  const text = (await readFile(file, "utf8")).replaceAll(
    /\$\{(?:env:)?([A-Za-z_]\w*)\}/g,
    (_, name: string) => process.env[name] ?? "",
  );
  const result = schema.safeParse(parse(text));
  if (result.success) return result.data;
  throw new Error(`the configuration is not valid: ${z.prettifyError(result.error)}`);
}

/** Names of capabilities in the file, their bits, and whether they are on when the file does not say. */
const CAPABILITIES: Readonly<Record<string, { bit: bigint; on: boolean }>> = {
  accepts_remote_config: { bit: 0x2n, on: false },
  reports_effective_config: { bit: 0x4n, on: true },
  reports_own_traces: { bit: 0x20n, on: false },
  reports_own_metrics: { bit: 0x40n, on: true },
  reports_own_logs: { bit: 0x80n, on: false },
  accepts_opamp_connection_settings: { bit: 0x100n, on: false },
  accepts_restart_command: { bit: 0x400n, on: false },
  reports_health: { bit: 0x800n, on: true },
  reports_remote_config: { bit: 0x1000n, on: false },
  reports_heartbeat: { bit: 0x2000n, on: true },
  reports_available_components: { bit: 0x4000n, on: false },
};

/** The capability bits that the supervisor reports. Throws for a name that it does not know. */
export function capabilityBits(chosen: SupervisorConfig["capabilities"]): bigint {
  const unknown = Object.keys(chosen).find((name) => !Object.hasOwn(CAPABILITIES, name));
  if (unknown !== undefined) throw new Error(`unknown capability ${unknown}`);
  const bits = Object.entries(CAPABILITIES).map(([name, { bit, on }]) => ((chosen[name] ?? on) ? bit : 0n));
  return bits.reduce((all, bit) => all | bit, 0x1n);
}
