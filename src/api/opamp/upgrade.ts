/**
 * The door: a WebSocket upgrade at the OpAMP path. In this order: path, rate of refused tokens of this address, rate of
 * new connections, credential; only then is the socket upgraded. Refusals are plain HTTP answers.
 */
import type { IncomingMessage, Server } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import { BRAND } from "../../domain/brand.ts";
import { DEFAULT_MAX_MESSAGE_BYTES } from "../../protocol/codec.ts";
import { admit, type Quota } from "./accept-quota.ts";
import type { Credential, Credentials } from "./credentials.ts";

export type Door = {
  /** Answers upgrades of this server at the OpAMP path; others are left to other listeners. */
  attach(server: Server): void;
  /** No new connections from now on: 503. */
  shut(): void;
};
type Deps = {
  credentials: Credentials;
  acceptPerSecond: number;
  chance: () => number;
  now: () => Date;
  onConnection: (socket: WebSocket, credential: Credential, address: string) => void;
  onRefused: (status: number, address: string) => void;
  onError: (error: unknown) => void;
};

/** Refused tokens of one address per minute; then it waits. A token is 256 bits: this is about load, not guessing. */
const REFUSED_PER_MINUTE = 60;
const MAX_ADDRESSES = 10_000;
const BUSY_S = 5;

export function createDoor(deps: Deps): Door {
  const { credentials, chance, now } = deps;
  const wss = new WebSocketServer({ noServer: true, maxPayload: DEFAULT_MAX_MESSAGE_BYTES, perMessageDeflate: false });
  const refused = createRefusals(now);
  let quota: Quota = { tokens: deps.acceptPerSecond, atMs: now().getTime() };
  let open = true;

  const refuse = (socket: Duplex, status: number, address: string, retryAfterS?: number): void => {
    const retry = retryAfterS === undefined ? "" : `Retry-After: ${retryAfterS}\r\n`;
    const bearer = status === 401 ? 'WWW-Authenticate: Bearer realm="opamp"\r\n' : "";
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${bearer}${retry}Connection: close\r\nContent-Length: 0\r\n\r\n`,
    );
    deps.onRefused(status, address);
  };
  const later = (): number => 1 + Math.floor(chance() * BUSY_S);

  const enter = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const address = request.socket.remoteAddress ?? "";
    if (!open) return refuse(socket, 503, address, later());
    if (refused.tooMany(address)) return refuse(socket, 429, address, 60);
    const admission = admit(quota, deps.acceptPerSecond, now().getTime(), chance());
    quota = admission.quota;
    if (!admission.admitted) return refuse(socket, 503, address, admission.retryAfterS);
    let credential: Credential | undefined;
    try {
      credential = await credentials.check(request.headers.authorization);
    } catch (error) {
      deps.onError(error);
      return refuse(socket, 503, address, later());
    }
    if (credential === undefined) {
      refused.count(address);
      return refuse(socket, 401, address);
    }
    if (socket.destroyed) return;
    const accepted = credential;
    wss.handleUpgrade(request, socket, head, (websocket) => deps.onConnection(websocket, accepted, address));
  };
  return {
    attach(server) {
      server.on("upgrade", (request, socket, head) => {
        socket.on("error", deps.onError);
        if (new URL(request.url ?? "/", "http://any").pathname !== BRAND.opampPath) {
          // Node answers nothing itself once somebody listens: the last listener must.
          if (server.listenerCount("upgrade") === 1) refuse(socket, 404, request.socket.remoteAddress ?? "");
          return;
        }
        enter(request, socket, head).catch((error: unknown) => {
          deps.onError(error);
          socket.destroy();
        });
      });
    },
    shut() {
      open = false;
    },
  };
}

function createRefusals(now: () => Date): { tooMany(address: string): boolean; count(address: string): void } {
  let minute = 0;
  let counts = new Map<string, number>();
  const current = (): Map<string, number> => {
    const at = Math.floor(now().getTime() / 60_000);
    if (at !== minute || counts.size > MAX_ADDRESSES) {
      minute = at;
      counts = new Map();
    }
    return counts;
  };
  return {
    tooMany: (address) => (current().get(address) ?? 0) >= REFUSED_PER_MINUTE,
    count: (address) => void current().set(address, (counts.get(address) ?? 0) + 1),
  };
}
