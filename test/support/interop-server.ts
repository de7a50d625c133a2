/**
 * What real peers connect to: PostgreSQL, Temporal and the API process of `myriarchd` in a folder of their own. No worker
 * runs, so that offers are exactly the rows that a test opens; downloads go through the real route.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { assetName } from "../../src/domain/artifact/asset.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import { runningPlatform } from "../../src/embedded/demo/binary.ts";
import { programPath, startProgram, type Program } from "../../src/embedded/program.ts";
import { startServices } from "../../src/embedded/services.ts";
import { openCredentials } from "../../src/embedded/stage/credentials.ts";
import { keptSecret, writeYaml } from "../../src/embedded/stage/files.ts";
import { prepareServer } from "../../src/embedded/stage/server.ts";
import type { PortBook } from "../../src/embedded/ports.ts";
import { openSigningAuthority, type SigningAuthority } from "../../src/signing/authority.ts";
import { packArchive, type ArchiveFile } from "../../src/signing/release.ts";
import { notify, openPool, transaction, type Pool } from "../../src/store/database.ts";
import { migrate } from "../../src/store/migrate.ts";
import { readIfPresent } from "../../src/signing/keys.ts";

const DISTRIBUTION = "otelcol-interop";

export type AgentRow = {
  uid: string;
  kind: string;
  hostName: string;
  serviceName: string;
  version: string;
  os: string;
  arch: string;
  connected: boolean;
  capabilities: number;
  healthy: boolean;
  healthStatus: string;
  unhealthyComponents: string[];
  configHash: string | null;
  configStatus: number;
  configError: string;
  hasEffectiveConfig: boolean;
  collectorUid: string | null;
  link: string;
  attempt: {
    version: string;
    from: string;
    status: string;
    error: string;
    steps: { step: string; status: string }[];
  } | null;
  packageStatus: { status: string; version: string; offeredVersion: string; error: string } | null;
};

export type InteropServer = {
  url: string;
  /** `ws://…/v1/opamp`. */
  endpoint: string;
  dataDir: string;
  ports: PortBook;
  pool: Pool;
  authority: SigningAuthority;
  enrollmentTokenFile: string;
  /** The enrollment token in that file. */
  token: string;
  agents(hostName: string): Promise<AgentRow[]>;
  /** A verified artifact of this version for this machine, its archive signed and in the staging of the API's host. */
  release(version: string, files: readonly ArchiveFile[]): Promise<{ artifact: string; sha256: string }>;
  offerPackage(recipient: string, version: string, artifact: string): Promise<string>;
  offerConfig(recipient: string, body: string): Promise<{ offer: string; hash: string }>;
  /** As the rollout engine does when the attempt is over. */
  closeOffer(offer: string): Promise<void>;
  /** Has the API look at the recipient's open offer, as a lost and repeated notification would. */
  nudge(recipient: string): Promise<unknown>;
  /** Ends the API process, has `between` happen, and starts it again on the same port. */
  restart(between: () => Promise<unknown>): Promise<void>;
  stop(): Promise<void>;
};

const sha256 = (bytes: Uint8Array | string): Buffer => createHash("sha256").update(bytes).digest();

/** `settings` are laid over the configuration file, section by section. */
export async function startInteropServer(settings: object = {}): Promise<InteropServer> {
  const root = await mkdtemp(join(tmpdir(), "myriarch-interop-"));
  const services = await startServices({ dataDir: root, log: () => undefined, env: {} });
  const { path: dataDir, ports } = services.folder;
  const pool = openPool(services.databaseUrl, () => undefined, 4);
  const ends: (() => Promise<unknown>)[] = [() => pool.end(), () => services.stop()];
  const stop = async (): Promise<void> => {
    for (const end of ends) await end();
    await rm(root, { recursive: true, force: true });
  };
  try {
    await migrate(pool);
    const credentials = await openCredentials(pool, dataDir, () => new Date());
    const authority = await openSigningAuthority(join(dataDir, "authority"));
    const tokens = { controlTokenFile: join(dataDir, "control-token"), readTokenFile: join(dataDir, "read-token") };
    for (const file of Object.values(tokens)) await keptSecret(file);
    const server = await prepareServer({
      dataDir,
      port: await ports.take("server"),
      metricsPort: await ports.take("metrics"),
      databaseUrl: services.databaseUrl,
      temporalAddress: services.temporalAddress,
      temporalUiUrl: services.temporalUiUrl,
      gitUrl: `file://${join(dataDir, "no-repository.git")}`,
      webhookSecretFile: join(dataDir, "webhook-secret"),
      mirror: join(dataDir, "mirror"),
      trustedRootFile: authority.trustedRootFile,
      depots: tokens,
    });
    const written = parse(await readFile(server.configFile, "utf8")) as object;
    await writeYaml(server.configFile, { ...written, ...settings });
    const startApi = (): Promise<Program> =>
      startProgram({
        name: "myriarchd-api",
        script: programPath("myriarchd"),
        args: ["--config", server.configFile, "--roles", "api"],
        dataDir,
      });
    let api = await startApi();
    ends.unshift(() => api.stop());
    const token = await readIfPresent(credentials.enrollmentTokenFile);
    return {
      url: server.url,
      endpoint: `${server.url.replace(/^http/, "ws")}/v1/opamp`,
      dataDir,
      ports,
      pool,
      authority,
      enrollmentTokenFile: credentials.enrollmentTokenFile,
      token: (token ?? "").trim(),
      ...rows(pool, authority, join(dataDir, "server", "staging")),
      restart: async (between) => {
        await api.stop();
        await between();
        api = await startApi();
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function rows(pool: Pool, authority: SigningAuthority, stagingDir: string) {
  let n = 0;
  const open = async (recipient: string, columns: Record<string, unknown>): Promise<string> =>
    await transaction(pool, async (tx) => {
      const offered = { fleet: "interop", n: ++n, host: randomUUID(), recipient, direction: "forward", ...columns };
      await tx.query(
        `insert into rollouts (fleet, n, kind, wanted_key, commit, policy, state)
         values ('interop', $1, 'catch_up', 'k', 'c', '{}', 'running')`,
        [n],
      );
      const { rows: opened } = await tx.query<{ id: string }>(
        `insert into offers (attempt, ${Object.keys(offered).join(", ")})
         values (1, ${Object.keys(offered)
           .map((_, at) => `$${at + 1}`)
           .join(", ")}) returning id`,
        Object.values(offered),
      );
      await notify(tx, CHANNELS.offers, recipient);
      return opened[0]?.id ?? "";
    });
  return {
    agents: async (hostName: string): Promise<AgentRow[]> =>
      (await pool.query<AgentRow>(`${AGENTS} where host_name = $1 order by kind`, [hostName])).rows,
    release: async (version: string, files: readonly ArchiveFile[]) => {
      const [os, arch] = runningPlatform().split("_") as [string, string];
      const archive = await packArchive(files);
      const digest = sha256(archive);
      const hex = digest.toString("hex");
      await mkdir(stagingDir, { recursive: true });
      await writeFile(join(stagingDir, hex), archive);
      const bundle = await authority.signFile(`sha256:${hex}`, { tag: `v${version}` });
      const { rows: made } = await pool.query<{ id: string }>(
        `insert into artifacts (distribution, version, os, arch, file_name, sha256, size_bytes, bundle, source_url, state)
         values ($1, $2, $3, $4, $5, $6, $7, $8, 'file:///interop', 'verified') returning id`,
        [
          DISTRIBUTION,
          version,
          os,
          arch,
          assetName({ distribution: DISTRIBUTION, version, os, arch }),
          digest,
          archive.length,
          bundle.toString(),
        ],
      );
      return { artifact: made[0]?.id ?? "", sha256: hex };
    },
    offerPackage: (recipient: string, version: string, artifact: string) =>
      open(recipient, { kind: "package", version, artifact, packages_hash: sha256(`${version} ${artifact}`) }),
    offerConfig: async (recipient: string, body: string) => {
      const hash = sha256(body);
      await pool.query("insert into configs (hash, body) values ($1, $2) on conflict do nothing", [
        hash,
        Buffer.from(body),
      ]);
      return { offer: await open(recipient, { kind: "config", config_hash: hash }), hash: hash.toString("hex") };
    },
    closeOffer: async (offer: string) => {
      await pool.query("update offers set closed_at = now() where id = $1", [offer]);
    },
    nudge: (recipient: string) => notify(pool, CHANNELS.offers, recipient),
  };
}

const AGENTS = `
  select uid, kind, host_name as "hostName", service_name as "serviceName", version, os, arch, connected,
    capabilities::int as capabilities, healthy, health_status as "healthStatus",
    unhealthy_components as "unhealthyComponents", encode(remote_config_hash, 'hex') as "configHash",
    remote_config_status as "configStatus", remote_config_error as "configError",
    effective_config is not null as "hasEffectiveConfig", collector_uid as "collectorUid", link,
    update_attempt as attempt, package_status as "packageStatus"
  from agents`;
