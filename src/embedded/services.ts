/** PostgreSQL and Temporal for one data folder, or those that the environment names. */
import { openDataFolder, type DataFolder } from "./data-folder.ts";
import { keepRunning, type Running, type Server } from "./keep-running.ts";
import { startPostgres, type Postgres } from "./postgres.ts";
import { startTemporal, type Temporal } from "./temporal.ts";

export type Services = {
  /** The locked data folder, with its real path and port book. */
  folder: DataFolder;
  databaseUrl: string;
  temporalAddress: string;
  /** Undefined for a Temporal of your own: its UI may be anywhere. */
  temporalUiUrl: string | undefined;
  /** One line per service: what runs where, and from which source. No secret in it. */
  describe(): string[];
  /** Ends what was started here, Temporal before PostgreSQL, and gives the folder back. */
  stop(): Promise<void>;
};

export type ServicesOptions = {
  dataDir: string;
  log: (line: string) => void;
  env?: NodeJS.ProcessEnv;
  postgresSettings?: Readonly<Record<string, string>>;
};

/** Starts both servers together. `DATABASE_URL` and `TEMPORAL_ADDRESS` name running ones: then nothing is started. */
export async function startServices(options: ServicesOptions): Promise<Services> {
  const { log, env = process.env } = options;
  const folder = await openDataFolder(options.dataDir, log);
  const external = { database: env["DATABASE_URL"] || undefined, temporal: env["TEMPORAL_ADDRESS"] || undefined };
  const shared = { dataDir: folder.path, ports: folder.ports, log };
  const [postgres, temporal] = await Promise.allSettled([
    external.database === undefined
      ? keepRunning("PostgreSQL", () => startPostgres({ ...shared, settings: options.postgresSettings ?? {} }), log)
      : undefined,
    external.temporal === undefined ? keepRunning("Temporal", () => startTemporal(shared), log) : undefined,
  ]);
  const end = async (name: string, result: PromiseSettledResult<Running<Server> | undefined>): Promise<void> => {
    if (result.status === "rejected" || result.value === undefined) return;
    await result.value.stop();
    log(`${name} ended`);
  };
  const stop = async (): Promise<void> => {
    try {
      await end("Temporal", temporal);
      await end("PostgreSQL", postgres);
    } finally {
      folder.release();
    }
  };
  if (postgres.status === "rejected" || temporal.status === "rejected") {
    await stop();
    throw [postgres, temporal].find((result) => result.status === "rejected")?.reason;
  }
  return {
    folder,
    databaseUrl: external.database ?? started(postgres.value?.current()).url,
    temporalAddress: external.temporal ?? started(temporal.value?.current()).address,
    temporalUiUrl: temporal.value?.current().uiUrl,
    describe: () => [
      describePostgres(postgres.value?.current()),
      describeTemporal(temporal.value?.current(), external.temporal),
    ],
    stop,
  };
}

const describePostgres = (postgres: Postgres | undefined): string =>
  postgres === undefined ? "PostgreSQL: the one of DATABASE_URL" : `PostgreSQL: 127.0.0.1:${postgres.port}`;

const describeTemporal = (temporal: Temporal | undefined, external: string | undefined): string =>
  temporal === undefined
    ? `Temporal: ${external ?? ""} (TEMPORAL_ADDRESS)`
    : `Temporal: ${temporal.address}, UI ${temporal.uiUrl} (${temporal.program.version}, from ${temporal.program.source})`;

function started<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a service that is not external was not started");
  return value;
}
