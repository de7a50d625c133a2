/** What both roles need before they start: settings, secrets, database, Temporal. */
import { readFile } from "node:fs/promises";
import { Client, Connection } from "@temporalio/client";
import type { Logger } from "pino";
import { CHANNELS } from "../../domain/channels.ts";
import { readSecret, type Secret } from "../../domain/config/secret.ts";
import { parseServerConfig, type ServerSettings } from "../../domain/config/server-config.ts";
import { formatIssue } from "../../domain/config/strict-yaml.ts";
import { failure } from "../../domain/errors.ts";
import { openPool, type Pool } from "../../store/database.ts";
import { createListener, type Listener } from "../../store/listen.ts";
import { migrate } from "../../store/migrate.ts";

/** Reads and checks the configuration file. Fails with `config_invalid`, naming every issue. */
export async function loadSettings(file: string): Promise<ServerSettings> {
  const result = parseServerConfig(await readFile(file, "utf8"), file, process.env);
  if (!result.ok) throw failure("config_invalid", { issues: result.issues.map(formatIssue).join("\n") });
  for (const warning of result.warnings) console.error(formatIssue(warning));
  return result.settings;
}

export const secretOf = (secret: Secret): Promise<string> =>
  readSecret(secret, { env: process.env, readFile: (path) => readFile(path, "utf8") });

export type Shared = {
  pool: Pool;
  listener: Listener;
  client: Client;
  /** `secrets.keyFile`: the first signs and seals, all of them open. */
  keys: readonly Uint8Array[];
  /** Whether the Temporal server answers within a second. */
  temporalReachable: () => Promise<boolean>;
  close(): Promise<void>;
};

const REACHABLE_MS = 1_000;

/** Opens what both roles share; the schema is up to date afterwards. */
export async function openShared(settings: ServerSettings, log: Logger, poolSize: number): Promise<Shared> {
  const url = await secretOf(settings.database.url);
  const onError = (error: Error): void => log.warn({ err: error }, "database connection lost");
  const pool = openPool(url, onError, poolSize);
  await migrate(pool);
  const listener = await createListener({ url, channels: Object.values(CHANNELS), onError });
  // Lazy: with Temporal away the server starts all the same and says that it is degraded.
  const connection = Connection.lazy({
    address: settings.temporal.address,
    tls: settings.temporal.tls,
    ...(settings.temporal.apiKey && { apiKey: await secretOf(settings.temporal.apiKey) }),
  });
  const secrets = [settings.secrets.key, settings.secrets.previousKey].filter((secret) => secret !== undefined);
  return {
    pool,
    listener,
    client: new Client({ connection, namespace: settings.temporal.namespace }),
    keys: await Promise.all(secrets.map(async (secret) => new TextEncoder().encode(await secretOf(secret)))),
    temporalReachable: () =>
      connection
        .withDeadline(Date.now() + REACHABLE_MS, () => connection.workflowService.getSystemInfo({}))
        .then(
          () => true,
          () => false,
        ),
    close: async () => {
      await listener.close();
      await connection.close();
      await pool.end();
    },
  };
}
