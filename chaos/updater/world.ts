/**
 * What every host of a run shares: signed archives over HTTP, an OpAMP server that tells hosts apart by their path, the
 * health of each host's collector, and the updater as one file, so that a start costs little.
 */
import { EventEmitter, once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout } from "node:timers/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { WebSocketServer, type WebSocket } from "ws";
import { BRAND } from "../../src/domain/brand.ts";
import { readUpdateComponent, type UpdateAttempt } from "../../src/domain/update/health-report.ts";
import { decodeAgentToServer, encodeServerToAgent } from "../../src/protocol/codec.ts";
import type { AgentToServer, ServerToAgent } from "../../src/protocol/messages.ts";
import type { SigningAuthority } from "../../src/signing/authority.ts";
import {
  makeArchive,
  openTestAuthority,
  packageOffer,
  removeAuthority,
  serveArchives,
  type Archive,
  type ArchiveServer,
} from "../../test/support/updater-host.ts";
import { BINARY, collectorScript, UNHEALTHY } from "./programs.ts";

/** Below the longest time that the updater waits for an answer. */
const COLLECTOR_STARTS_MS = 4_500;
const LOOK_EVERY_MS = 10;
const ROOT = join(import.meta.dirname, "../..");

/** What the server knows of one host's updater: everything it told, the latest of each part. */
export class Session {
  readonly changed = new EventEmitter().setMaxListeners(0);
  private state: Partial<AgentToServer> = {};
  private socket: WebSocket | undefined;

  connected(socket: WebSocket): void {
    this.socket = socket;
    this.state = {}; // a new process tells everything
    socket.on("message", (data) => {
      const message = decodeAgentToServer(data as Buffer);
      this.state = { ...this.state, ...message };
      this.send({});
      this.changed.emit("change");
    });
  }
  /** Undefined until the process that is connected now has told its full state. */
  get told(): { attempt: UpdateAttempt | undefined } | undefined {
    const { health, agentDescription } = this.state;
    if (health === undefined || agentDescription === undefined) return undefined;
    const component = health.componentHealthMap.get(BRAND.updateComponent);
    return { attempt: component && readUpdateComponent(component) };
  }
  /** Nothing is known of the process that starts next. */
  forget(): void {
    this.state = {};
    this.socket = undefined;
  }
  send(message: Partial<ServerToAgent>): void {
    const { instanceUid = "" } = this.state;
    this.socket?.send(encodeServerToAgent({ instanceUid, flags: 0n, capabilities: 0x1fn, ...message }));
  }
}

export class World {
  readonly folder = mkdtempSync(join(tmpdir(), "myriarch-chaos-"));
  readonly program = join(this.folder, "program/dist/bin/myriarch-updater.mjs");
  readonly sessions = new Map<string, Session>();
  readonly authority: SigningAuthority;
  readonly archives: ArchiveServer;
  private readonly http: Server;
  private readonly sockets: WebSocketServer;

  private constructor(authority: SigningAuthority, archives: ArchiveServer) {
    this.authority = authority;
    this.archives = archives;
    this.http = createServer((request, response) => {
      const host = /^\/health\/([\w-]+)$/.exec(request.url ?? "")?.[1] ?? "";
      void this.collectorOf(host).then((version) => {
        response.writeHead(version === undefined || version === UNHEALTHY ? 503 : 200).end();
      });
    });
    this.sockets = new WebSocketServer({ server: this.http });
    this.sockets.on("connection", (socket, request) => {
      const host = /^\/v1\/opamp\/([\w-]+)$/.exec(request.url ?? "")?.[1] ?? "";
      this.sessions.get(host)?.connected(socket);
    });
  }

  /** `versions` are offered later, each by a signed archive. */
  static async open(versions: readonly string[]): Promise<World & { archiveOf: (version: string) => Archive }> {
    const authority = await openTestAuthority();
    const made = await Promise.all(
      versions.map(async (version) => {
        const content = collectorScript(version);
        return await makeArchive(authority, version, [{ name: BINARY, content, mode: 0o755 }]);
      }),
    );
    const world = new World(authority, await serveArchives(made));
    world.http.listen(0, "127.0.0.1");
    await once(world.http, "listening");
    await world.bundle();
    const archiveOf = (version: string): Archive => {
      const found = made.find((it) => it.version === version);
      if (found === undefined) throw new Error(`no archive of ${version}`);
      return found;
    };
    return Object.assign(world, { archiveOf });
  }

  get port(): number {
    return (this.http.address() as AddressInfo).port;
  }
  hostFolder(host: string): string {
    return join(this.folder, host);
  }

  /** What a collector wrote when it began, if that process lives; undefined otherwise. */
  runs(host: string): string | undefined {
    try {
      const [pid, version] = readFileSync(join(this.hostFolder(host), "running"), "utf8")
        .trim()
        .split(" ");
      const commandLine = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return commandLine.includes(`${this.hostFolder(host)}/`) ? version : undefined;
    } catch (error) {
      if (["ENOENT", "ESRCH"].includes(String((error as NodeJS.ErrnoException).code))) return undefined;
      throw error;
    }
  }
  /** Waits a while for a collector that is still starting, so that the first answer decides however busy the machine is. */
  private async collectorOf(host: string): Promise<string | undefined> {
    for (const deadline = performance.now() + COLLECTOR_STARTS_MS; ; await setTimeout(LOOK_EVERY_MS)) {
      const version = this.runs(host);
      if (version !== undefined || performance.now() > deadline) return version;
    }
  }

  offerOf(archive: Archive): Partial<ServerToAgent> {
    return packageOffer(archive, this.archives.base);
  }

  /** The same program, one file: reading a hundred modules is most of a start. */
  private async bundle(): Promise<void> {
    mkdirSync(join(this.folder, "program"));
    cpSync(join(ROOT, "package.json"), join(this.folder, "program/package.json"));
    const require = `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`;
    await build({
      entryPoints: [join(ROOT, "src/bin/myriarch-updater.ts")],
      outfile: this.program,
      bundle: true,
      platform: "node",
      format: "esm",
      banner: { js: require },
      logLevel: "error",
    });
  }

  async close(): Promise<void> {
    for (const client of this.sockets.clients) client.terminate();
    this.sockets.close();
    this.http.closeAllConnections();
    this.http.close();
    await once(this.http, "close");
    await this.archives.close();
    removeAuthority(this.authority);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
