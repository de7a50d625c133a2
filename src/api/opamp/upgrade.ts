/**
 * The door of the WebSocket transport: an upgrade at the OpAMP path. In this order: path, credential, handshake, rate of
 * new connections; only then is the socket upgraded. Refusals are plain HTTP answers.
 */
import type { IncomingMessage, Server } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { BRAND } from "../../domain/brand.ts";
import type { Admission, Entrant, Refusal } from "./admission.ts";
import { acceptance, judgeHandshake } from "./handshake.ts";

type Deps = {
  admission: Admission;
  /** The socket speaks WebSocket from here on; `head` came already. */
  onConnection: (socket: Socket, head: Buffer, entrant: Entrant) => void;
  onRefused: (refusal: Refusal, address: string) => void;
  onError: (error: unknown) => void;
};

/** Answers upgrades of a server at the OpAMP path; others are left to other listeners. */
export function createDoor(deps: Deps): { attach: (server: Server) => void } {
  const enter = async (request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> => {
    const identified = await deps.admission.identify(request);
    const refuse = (refusal: Refusal): void => {
      refuseUpgrade(socket, refusal);
      deps.onRefused(refusal, identified.address);
    };
    if ("refusal" in identified) return refuse(identified.refusal);
    const handshake = judgeHandshake(request);
    if ("status" in handshake) return refuseUpgrade(socket, handshake);
    const full = deps.admission.place();
    if (full !== undefined) return refuse(full);
    if (!socket.readable || !socket.writable) return void socket.destroy();
    socket.write(acceptance(handshake.key));
    deps.onConnection(socket, head, identified);
  };
  return {
    attach(server) {
      server.on("upgrade", (request, duplex: Duplex, head) => {
        // Node hands over the connection's socket, plain or TLS.
        const socket = duplex as Socket;
        // That the other end is gone is no failure of ours; the close that follows says what is to be said.
        socket.on("error", () => socket.destroy());
        if (new URL(request.url ?? "/", "http://any").pathname !== BRAND.opampPath) {
          // Node answers nothing itself once somebody listens: the last listener must.
          if (server.listenerCount("upgrade") === 1) refuseUpgrade(socket, { status: 404 });
          return;
        }
        enter(request, socket, head).catch((error: unknown) => {
          deps.onError(error);
          socket.destroy();
        });
      });
    },
  };
}

type Answer = { status: number; retryAfterS?: number; header?: string };

function refuseUpgrade(socket: Socket, { status, retryAfterS, header = "" }: Answer): void {
  const retry = retryAfterS === undefined ? "" : `Retry-After: ${retryAfterS}\r\n`;
  const bearer = status === 401 ? 'WWW-Authenticate: Bearer realm="opamp"\r\n' : "";
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${bearer}${retry}${header}Connection: close\r\nContent-Length: 0\r\n\r\n`,
  );
}
