/**
 * A host in a temporary folder: real files, real archives with real signatures over a real HTTP server; the service is a
 * fake that keeps the one rule that matters (what starts is what is active), and time is virtual.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { packArchive, type ArchiveFile } from "../../src/signing/release.ts";
import { openSigningAuthority, type SigningAuthority } from "../../src/signing/authority.ts";
import { CONTRACT_DEFAULTS } from "../../src/domain/brand.ts";
import { createJournal } from "../../src/updater/attempt-journal.ts";
import type { Clock } from "../../src/updater/clock.ts";
import { createDownloader } from "../../src/updater/download.ts";
import { portsOf, shorten } from "../../src/updater/fault-points.ts";
import { systemFiles, type Files } from "../../src/updater/files.ts";
import type { ServiceManager } from "../../src/updater/host/service.ts";
import { signatureRule } from "../../src/updater/compose.ts";
import type { HostDeps, Offer } from "../../src/updater/install.ts";
import { INSTALL_MARKER, Layout } from "../../src/updater/layout.ts";
import type { StateFolder } from "../../src/updater/state-file.ts";
import { createState } from "../../src/updater/state.ts";
import { openBackoff } from "../../src/updater/backoff.ts";
import type { ServerToAgent } from "../../src/protocol/messages.ts";

export const BINARY = "otelcol-contrib";

/** A collector small enough for hundreds of attempts. */
export const script = (version: string, more = ""): string =>
  `#!/bin/sh\n${more}\ncase "$1" in --version) echo "${BINARY} version ${version}";; validate) exit 0;; esac\n`;

/** Virtual time: whoever sleeps moves it. */
export function virtualClock(): Clock & { advance(ms: number): void } {
  let now = 1_000_000;
  return {
    nowNanos: () => BigInt(now) * 1_000_000n,
    monotonicMs: () => now,
    bootId: "boot-1",
    chance: () => 0,
    advance: (ms) => void (now += ms),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      signal?.throwIfAborted();
      now += ms;
    },
  };
}

export const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

export type Archive = { version: string; bytes: Buffer; signature: Buffer };

export async function makeArchive(
  authority: SigningAuthority,
  version: string,
  files?: readonly ArchiveFile[],
): Promise<Archive> {
  const content = files ?? [
    { name: "README.md", content: "demo", mode: 0o644 },
    { name: BINARY, content: script(version), mode: 0o755 },
  ];
  const bytes = await packArchive(content);
  return { version, bytes, signature: await authority.signFile(`sha256:${sha256(bytes)}`, { tag: `v${version}` }) };
}

export const openTestAuthority = async (): Promise<SigningAuthority> =>
  await openSigningAuthority(mkdtempSync(join(tmpdir(), "updater-authority-")));

export const removeAuthority = ({ trustedRootFile }: SigningAuthority): void =>
  rmSync(dirname(trustedRootFile), { recursive: true, force: true });

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Serves archives by the path `/api/v1/artifacts/<sha256>/content/a.tar.gz`; a handler may take a request over. */
export async function serveArchives(archives: readonly Archive[]) {
  const byPath = new Map(archives.map((it) => [pathOf(it), it.bytes]));
  const requests: { url: string; authorization: string | undefined; range: string | undefined }[] = [];
  const overrides = new Map<string, Handler>();
  const server: Server = createServer((request, response) => {
    const url = request.url ?? "";
    requests.push({ url, authorization: request.headers.authorization, range: request.headers.range });
    const override = overrides.get(url);
    if (override !== undefined) return override(request, response);
    const bytes = byPath.get(url);
    if (bytes === undefined) return response.writeHead(404).end();
    return response.writeHead(200, { "content-length": bytes.byteLength }).end(bytes);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    base,
    requests,
    overrides,
    prefix: `${base}/api/v1/artifacts/`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
export type ArchiveServer = Awaited<ReturnType<typeof serveArchives>>;

export const pathOf = ({ bytes }: Archive): string => `/api/v1/artifacts/${sha256(bytes)}/content/a.tar.gz`;

export const offerOf = (archive: Archive, { base }: { base: string }, over: Partial<Offer> = {}): Offer => ({
  versionText: `v${archive.version}`,
  url: `${base}${pathOf(archive)}`,
  headers: () => [{ key: "Authorization", value: "Bearer offer-token" }],
  contentHash: sha256(archive.bytes),
  signature: archive.signature,
  ...over,
});

export class TestHost {
  readonly root = mkdtempSync(join(tmpdir(), "updater-host-"));
  readonly installDir = join(this.root, "install");
  readonly stateDir = join(this.root, "state");
  readonly storageDir = join(this.root, "supervisor");
  readonly clock = virtualClock();
  /** What the service did, in order, with the active version at that moment. */
  readonly calls: string[] = [];
  readonly log: { level: string; text: string }[] = [];
  /** Version that the running supervisor started its collector from; undefined while stopped. */
  runs: string | undefined = "0.160.0";
  /** Answer of the collector's health endpoint, by version and number of the check since its start. */
  healthOf: (version: string, check: number) => number = () => 200;
  /** Failures to inject. */
  stopFails = 0;
  startFails = 0;
  serviceExists = true;
  private checks = 0;

  constructor() {
    for (const folder of [this.installDir, this.stateDir, this.storageDir]) mkdirSync(folder, { recursive: true });
    this.byHand("0.160.0");
  }

  /** A version without marker, active. */
  byHand(version: string): void {
    mkdirSync(join(this.installDir, "versions", version), { recursive: true });
    writeFileSync(join(this.installDir, "versions", version, BINARY), script(version), { mode: 0o755 });
    symlinkSync(`versions/${version}`, join(this.installDir, "current"));
  }

  /** Empty when nothing is active. */
  get active(): string {
    const link = join(this.installDir, "current");
    return lstatSync(link, { throwIfNoEntry: false }) === undefined ? "" : readlinkSync(link).replace("versions/", "");
  }
  /** A host that has no version yet. */
  empty(): void {
    rmSync(join(this.installDir, "current"));
    rmSync(join(this.installDir, "versions"), { recursive: true });
    this.runs = undefined;
  }
  get versions(): string[] {
    return readdirSync(join(this.installDir, "versions")).toSorted();
  }
  get journalExists(): boolean {
    return existsSync(join(this.stateDir, "journal.json"));
  }
  /** Spool, staging and temporary files: nothing of these may stay. */
  get leftovers(): string[] {
    const spool = join(this.stateDir, "spool");
    return [
      ...this.versions.filter((name) => name.startsWith(".")),
      ...(existsSync(spool) ? readdirSync(spool) : []),
      ...readdirSync(this.stateDir).filter((name) => name.includes(".tmp-")),
      ...readdirSync(this.installDir).filter((name) => name.includes(".tmp-")),
    ];
  }
  marker(version: string): Record<string, string> {
    return JSON.parse(readFileSync(join(this.installDir, "versions", version, INSTALL_MARKER), "utf8")) as Record<
      string,
      string
    >;
  }

  service(): ServiceManager {
    return {
      checkExists: async () => {
        if (!this.serviceExists) throw new Error("there is no such service");
      },
      isRunning: async () => this.runs !== undefined,
      hasFailed: async () => false,
      start: async () => {
        this.calls.push(`start ${this.active}`);
        if (this.startFails-- > 0) throw new Error("does not start");
        this.runs ??= this.active;
        this.checks = 0;
      },
      stop: async () => {
        this.calls.push(`stop ${this.active}`);
        if (this.stopFails-- > 0) throw new Error("does not stop");
        this.runs = undefined;
      },
      saidSinceStart: async () => undefined,
      supervisorPid: async () => undefined,
      account: async () => ({ uid: process.getuid?.(), gid: process.getgid?.(), environment: {} }),
      close: async () => undefined,
    };
  }

  /** Ports that tell each effect when it is done, as `kind path`; what is thrown then makes it fail. */
  watched(told: (effect: string) => void): { files: Files; service: ServiceManager } {
    const folders = { state: this.stateDir, install: this.installDir };
    const { files, service } = portsOf(async (kind, target, work) => {
      const result = await work();
      told(`${kind} ${shorten(target, folders)}`.trimEnd());
      return result;
    });
    return { files, service: service(this.service()) };
  }

  stateFolder(files: Files = systemFiles): StateFolder {
    const note = (level: string) => (fields: object, text: string) =>
      void this.log.push({ level, text: `${text} ${JSON.stringify(fields)}` });
    return { folder: this.stateDir, files, log: { info: note("info"), warn: note("warn"), error: note("error") } };
  }

  /** Everything the steps need; `over` replaces ports. */
  deps(server: { prefix: string }, authority: SigningAuthority, over: Partial<HostDeps> = {}): HostDeps {
    const { files = systemFiles, service = this.service() } = over;
    const folder = this.stateFolder(files);
    return {
      files,
      clock: this.clock,
      log: folder.log,
      layout: new Layout({ installDir: this.installDir, binary: BINARY, activation: "symlink" }, files),
      service,
      journal: createJournal(folder),
      download: createDownloader({ files, clock: this.clock, log: folder.log }),
      verifySignature: signatureRule({
        trustedRootFile: authority.trustedRootFile,
        requireSignature: true,
        certificateIdentityRegexp: CONTRACT_DEFAULTS.identityPattern,
        certificateOidcIssuer: CONTRACT_DEFAULTS.oidcIssuer,
      }),
      health: {
        settings: {
          supervisorUrl: undefined,
          collectorUrl: "http://collector",
          successes: 3,
          intervalMs: 5_000,
          timeoutMs: 120_000,
        },
        deps: {
          clock: this.clock,
          isServiceRunning: async () => await service.isRunning(),
          statusOf: async () => this.healthOf(this.runs ?? "", ++this.checks),
        },
      },
      policy: { allowDowngrade: false, allowedUrlPrefixes: [server.prefix] },
      limits: { maxArchiveBytes: CONTRACT_DEFAULTS.maxArchiveBytes, idleTimeoutMs: 2_000, keepVersions: 2 },
      preflight: {
        validate: undefined,
        lastRemoteConfig: join(this.storageDir, "last_recv_remote_config.dat"),
        timeoutMs: 5_000,
      },
      spoolDir: join(this.stateDir, "spool"),
      ...over,
    };
  }

  state(files: Files = systemFiles) {
    return createState(this.stateFolder(files), this.clock, (bytes) => randomBytes(bytes));
  }

  async backoff(files: Files = systemFiles) {
    return await openBackoff(this.stateFolder(files), this.clock, 600_000);
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** The message that offers the one package of a release, as the server sends it. `base` is where its archive is served. */
export function packageOffer(archive: Archive, base: string): Partial<ServerToAgent> {
  const file = {
    downloadUrl: `${base}${pathOf(archive)}`,
    contentHash: Buffer.from(sha256(archive.bytes), "hex"),
    signature: archive.signature,
    headers: [{ key: "Authorization", value: "Bearer download-token" }],
  };
  const hash = Buffer.from(`p-${archive.version}`);
  const packages = new Map([["", { type: 0, version: `v${archive.version}`, file, hash }]]);
  return { packagesAvailable: { packages, allPackagesHash: Buffer.from(`a-${archive.version}`) } };
}
