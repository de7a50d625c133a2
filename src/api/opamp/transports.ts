/** The two transports, tied to the one conversation: what their libraries report becomes messages, signs of life, log lines. */
import type { Socket } from "node:net";
import type { Logger } from "pino";
import type { WebSocket } from "ws";
import { isFailure } from "../../domain/errors.ts";
import type { Entrant } from "./admission.ts";
import type { Connection } from "./connection.ts";
import { createPolls } from "./http-polls.ts";
import { createHttpWay } from "./http-way.ts";
import type { Liveness } from "./liveness.ts";
import type { Receive } from "./receive.ts";
import { whoOf, type Refused } from "./refusal-log.ts";
import { WebSocketConnection } from "./websocket-connection.ts";

type Listening = {
  connections: Set<Connection>;
  receive: Receive;
  liveness: Liveness;
  onRefused: (refused: Refused) => void;
  log: Pick<Logger, "info">;
};

/** From here on the socket's messages are taken, until it ends. */
export function listen(
  sockets: { websocket: WebSocket; socket: Socket },
  entrant: Entrant,
  { connections, receive, liveness, onRefused, log }: Listening,
): void {
  const { websocket } = sockets;
  const slow = (it: Connection): void => onRefused({ code: "reader_too_slow", ...whoOf(it) });
  const connection = new WebSocketConnection(sockets, entrant, performance.now(), slow);
  connections.add(connection);
  websocket.on("message", (data, isBinary) => {
    connection.gotWhole();
    receive.frame(connection, data as Buffer, isBinary);
  });
  websocket.on("pong", () => liveness.alive(connection));
  websocket.on("error", (error: NodeJS.ErrnoException) => {
    const code = codeOf(error.code ?? "");
    if (code !== undefined) onRefused({ code, ...whoOf(connection), because: error.message });
    else log.info({ ...whoOf(connection), error: error.message }, "OpAMP connection failed");
  });
  websocket.on("close", (code) => {
    connections.delete(connection);
    receive.closed(connection, `closed with ${code}`);
  });
}

/** What the WebSocket library refuses by itself, before a message is whole. */
function codeOf(code: string): Refused["code"] | undefined {
  if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") return "payload_too_large";
  return code.startsWith("WS_ERR_") ? "malformed_message" : undefined;
}

type HttpParts = Parameters<typeof createPolls>[0];

export const createHttp = (
  parts: HttpParts,
  onRefused: (refused: Refused) => void,
  onError: (error: unknown) => void,
): ReturnType<typeof createHttpWay> =>
  createHttpWay({
    admission: parts.admission,
    polls: createPolls(parts),
    chance: Math.random,
    onError,
    onRefused(refused, { address, credential, agent }) {
      const because = isFailure(refused) ? { because: refused.message } : {};
      onRefused({ code: refused.code, address, agent, credential: credential?.title, ...because });
    },
  });
