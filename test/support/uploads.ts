/** Folders with signed releases, and what takes them: the routes of uploads on a staging folder with a worker that lives. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStaging } from "../../src/activities/artifact-staging.ts";
import { claimStagingId, createUploadStore, type UploadStore } from "../../src/activities/artifact-upload.ts";
import { releaseRoutes } from "../../src/api/routes/releases.ts";
import { uploadRoutes } from "../../src/api/routes/upload.ts";
import { runMyrctl } from "../../src/cli/program.ts";
import { CONTRACT_DEFAULTS } from "../../src/domain/brand.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import { openSigningAuthority, type SigningAuthority } from "../../src/signing/authority.ts";
import { packArchive, publishRelease } from "../../src/signing/release.ts";
import type { Pool } from "../../src/store/database.ts";
import { createListener, type Listener } from "../../src/store/listen.ts";
import { noteWorker } from "../../src/store/workers.ts";
import { createTestApi, type TestApi } from "./api.ts";

export const HOLDER = "host-a";

export const uploadStore = (folder: string, pool: Pool): UploadStore =>
  createUploadStore({
    folder,
    pool,
    stagingFor: (holder) => createStaging({ folder, holder, pool, maxBytes: CONTRACT_DEFAULTS.maxArchiveBytes }),
  });

export type UploadWorld = {
  api: TestApi;
  pool: Pool;
  root: string;
  stagingDir: string;
  authority: SigningAuthority;
  signing: { trustedRootFile: string; certificateIdentityRegexp: string; certificateOidcIssuer: string };
  /** What replication was told. */
  poked: string[];
  /** The store that the routes use; a test may change what it says. */
  store: UploadStore;
  server: string;
  worker: Listener;
  /** A folder with these platforms of a version, signed. */
  publish(version: string, options?: { platforms?: string[]; bytes?: number; sign?: object }): Promise<string>;
  /** Runs a command line of myrctl as this role, at this server. */
  myrctl(
    args: string[],
    options?: { role?: string; server?: string },
  ): Promise<{ code: number; out: string; err: string }>;
  close(): Promise<void>;
};

export async function createUploadWorld(): Promise<UploadWorld> {
  const root = await mkdtemp(join(tmpdir(), "myriarch-uploads-"));
  const stagingDir = join(root, "staging");
  const authority = await openSigningAuthority(join(root, "authority"));
  const signing = {
    trustedRootFile: authority.trustedRootFile,
    certificateIdentityRegexp: CONTRACT_DEFAULTS.identityPattern,
    certificateOidcIssuer: CONTRACT_DEFAULTS.oidcIssuer,
  };
  const poked: string[] = [];
  let store: UploadStore | undefined;
  const api = await createTestApi({
    guarded: (pool) => {
      store = uploadStore(stagingDir, pool);
      const now = (): Date => new Date();
      const poke = async (cause: string): Promise<void> => void poked.push(cause);
      return [
        uploadRoutes({ pool, now, staging: store, signing, minCopies: 3, poke, log: { warn: () => undefined } }, 2_000),
        releaseRoutes({ pool, now, refresh: async () => true }),
      ];
    },
  });
  if (store === undefined) throw new Error("no routes were made");
  const { pool, url } = api.database;
  const worker = await createListener({ url, channels: [CHANNELS.artifacts], onError: () => undefined });
  await noteWorker(pool, { id: worker.id, holder: HOLDER, staging: await claimStagingId(stagingDir) });
  await api.app.listen({ host: "127.0.0.1", port: 0 });
  const server = `http://127.0.0.1:${(api.app.server.address() as AddressInfo).port}`;
  for (const role of ["viewer", "operator", "admin"] as const)
    await writeFile(join(root, role), api.tokens[role], { mode: 0o600 });
  return {
    api,
    pool,
    root,
    stagingDir,
    authority,
    signing,
    poked,
    store,
    server,
    worker,
    publish: async (version, { platforms = ["linux_amd64"], bytes = 1_000, sign = {} } = {}) => {
      const mirror = await mkdtemp(join(root, "mirror-"));
      const assets = await Promise.all(
        platforms.map(async (platform) => ({
          name: `otelcol-contrib_${version}_${platform}.tar.gz`,
          content: await packArchive([{ name: "otelcol-contrib", content: randomBytes(bytes), mode: 0o755 }]),
        })),
      );
      await publishRelease(mirror, authority, assets, { tag: `v${version}`, ...sign });
      return join(mirror, `v${version}`);
    },
    myrctl: async (args, { role = "admin", server: at = server } = {}) => {
      const said = { out: "", err: "" };
      const io = {
        out: (text: string) => void (said.out += `${text}\n`),
        err: (text: string) => void (said.err += `${text}\n`),
      };
      const code = await runMyrctl(["--server", at, "--token-file", join(root, role), ...args], {}, io, "1.2.3");
      return { code, ...said };
    },
    close: async () => {
      await worker.close();
      await api.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** Passes connections on; the first that has sent `cutAfter` bytes is cut, later ones are not. */
export async function startCuttingProxy(
  target: string,
  cutAfter: number,
): Promise<{ url: string; close(): void; sent(): number }> {
  let cut = false;
  let sent = 0;
  const { hostname, port } = new URL(target);
  const server: Server = createServer((inside) => {
    const outside = connect(Number(port), hostname);
    let bytes = 0;
    inside.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      sent += chunk.length;
      outside.write(chunk);
      if (cut || bytes < cutAfter) return;
      cut = true;
      // what was written goes out, then the end as a broken line makes it
      outside.end();
      inside.resetAndDestroy();
    });
    outside.pipe(inside);
    for (const [one, other] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.end());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
    sent: () => sent,
  };
}
