/**
 * Everything of the quickstart on one machine: services, depots, server, Git remote, signed mirror, hosts. `openStage`
 * prepares and starts in order; `stop` ends in the reverse order. A second start goes on where the first one was.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openSigningAuthority } from "../../signing/authority.ts";
import { openPool } from "../../store/database.ts";
import { migrate } from "../../store/migrate.ts";
import { registerDepot } from "../../store/depots.ts";
import { buildDemoMirror } from "../demo/archives.ts";
import { programPath, startProgram, type Program } from "../program.ts";
import { startServices, type Services } from "../services.ts";
import { openCredentials, type Credentials } from "./credentials.ts";
import { prepareDepots, type Depots } from "./depots.ts";
import { writeFileWhole } from "./files.ts";
import { opampOf, startRealHost, type RealHost } from "./real-host.ts";
import { openDemoRepository, type DemoRepository } from "./repository.ts";
import { prepareServer, type DemoServer } from "./server.ts";

export type StageOptions = {
  dataDir: string;
  log: (line: string) => void;
  /** Simulated hosts beside the two real ones. */
  simulated?: number;
};

export type Stage = {
  services: Services;
  credentials: Credentials;
  repository: DemoRepository;
  server: DemoServer;
  /** Every process by name; a name that was restarted has its newest process. */
  programs: Map<string, Program>;
  depots: Depots;
  hosts: RealHost[];
  simulated: number;
  stop(): Promise<void>;
};

const SIMULATED = 60;
/** A thousand hosts are let in a few at a time. */
const SIMULATOR_READY_MS = 180_000;
const REAL_HOSTS = ["real-1", "real-2"] as const;
const now = (): Date => new Date();

/** Starts everything up to the server; hosts are started by `startHosts`. */
export async function openStage({ dataDir, log, simulated = SIMULATED }: StageOptions): Promise<Stage> {
  const services = await startServices({ dataDir, log });
  const programs = new Map<string, Program>();
  const hosts: RealHost[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all([programs.get("sim")?.stop(), ...hosts.map((host) => host.updater.stop())]);
    await programs.get("myriarchd")?.stop();
    await Promise.all(Array.from(programs.values(), (program) => program.stop()));
    await services.stop();
  };
  try {
    const { path, ports } = services.folder;
    const credentials = await firstCredentials(services, path);
    const authority = await openSigningAuthority(join(path, "authority"));
    const mirror = join(path, "mirror");
    await buildDemoMirror({ folder: mirror, authority });
    const repository = await openDemoRepository(join(path, "git"));
    const depots = await prepareDepots(path, ports);
    await registerDepots(services, depots);
    for (const node of depots.nodes) programs.set(node.nodeId, await node.start());
    const server = await prepareServer({
      dataDir: path,
      port: await ports.take("server", 8080),
      metricsPort: await ports.take("metrics", 9464),
      databaseUrl: services.databaseUrl,
      temporalAddress: services.temporalAddress,
      temporalUiUrl: services.temporalUiUrl,
      gitUrl: repository.url,
      webhookSecretFile: join(path, "server", "webhook-secret"),
      mirror,
      trustedRootFile: authority.trustedRootFile,
      depots: { controlTokenFile: depots.controlTokenFile, readTokenFile: depots.readTokenFile },
    });
    programs.set("myriarchd", await server.start());
    await writeFileWhole(
      join(path, "cli.json"),
      `${JSON.stringify({ server: server.url, tokenFile: credentials.adminTokenFile })}\n`,
      0o600,
    );
    return { services, credentials, repository, server, programs, depots, hosts, simulated, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export type HostOptions = { realHosts?: readonly string[]; simArgs?: readonly string[] };

/** Starts the real hosts and the simulator; the simulator is ready when all of its hosts are connected. */
export async function startHosts(stage: Stage, options: HostOptions = {}): Promise<void> {
  const { path, ports } = stage.services.folder;
  for (const name of options.realHosts ?? REAL_HOSTS) {
    const folder = join(path, "hosts", name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const collectorHealth = await ports.take(`${name}-collector`);
    stage.hosts.push(
      await startRealHost({
        name,
        folder,
        dataDir: path,
        serverUrl: stage.server.url,
        enrollmentTokenFile: stage.credentials.enrollmentTokenFile,
        trustedRootFile: join(path, "authority", "trusted_root.json"),
        ports: { supervisorHealth: await ports.take(`${name}-supervisor`), collectorHealth },
        attributes: { "demo.real": "true", "demo.health_port": String(collectorHealth) },
      }),
    );
  }
  stage.programs.set("sim", await startSimulator(stage, options.simArgs ?? []));
}

const startSimulator = (stage: Stage, more: readonly string[]): Promise<Program> =>
  startProgram({
    name: "sim",
    script: programPath("myriarch-sim"),
    args: [
      `--server=${opampOf(stage.server.url)}`,
      `--token-file=${stage.credentials.enrollmentTokenFile}`,
      `--hosts=${stage.simulated}`,
      `--state=${join(stage.services.folder.path, "sim.json")}`,
      ...more,
    ],
    readyMs: SIMULATOR_READY_MS,
    dataDir: stage.services.folder.path,
  });

async function firstCredentials(services: Services, folder: string): Promise<Credentials> {
  const pool = openPool(services.databaseUrl, () => undefined, 2);
  try {
    await migrate(pool);
    return await openCredentials(pool, folder, now);
  } finally {
    await pool.end();
  }
}

async function registerDepots(services: Services, depots: Depots): Promise<void> {
  const pool = openPool(services.databaseUrl, () => undefined, 2);
  try {
    for (const { nodeId, controlUrl, readUrl } of depots.nodes)
      await registerDepot(pool, { nodeId, zone: "", controlUrl, readUrl });
  } finally {
    await pool.end();
  }
}
