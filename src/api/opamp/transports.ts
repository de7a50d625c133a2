/** The two transports, tied to the one conversation: what they report becomes messages, signs of life, log lines. */
import type { Logger } from "pino";
import { isFailure } from "../../domain/errors.ts";
import { CLOSE, type Connection } from "./connection.ts";
import { createEndOfTurn } from "./end-of-turn.ts";
import { createPolls } from "./http-polls.ts";
import { createHttpWay } from "./http-way.ts";
import type { Liveness } from "./liveness.ts";
import type { Receive } from "./receive.ts";
import { whoOf, type Refused } from "./refusal-log.ts";
import type { WebSocketEvents } from "./websocket-connection.ts";

type Listening = {
  connections: Set<Connection>;
  receive: Receive;
  liveness: Liveness;
  onRefused: (refused: Refused) => void;
  log: Pick<Logger, "info">;
};

const CLOSE_MS = 10_000;

/** What becomes of what WebSockets report. */
export function createWebSocketEvents({ connections, receive, liveness, onRefused, log }: Listening): WebSocketEvents {
  return {
    endOfTurn: createEndOfTurn(),
    closeMs: CLOSE_MS,
    onFrame: (connection, data, isBinary) => receive.frame(connection, data, isBinary),
    onPong: (connection) => liveness.alive(connection),
    onFault(connection, { code, message }) {
      const refused = code === CLOSE.tooLarge ? "payload_too_large" : "malformed_message";
      onRefused({ code: refused, ...whoOf(connection), because: message });
    },
    onFailed: (connection, { message }) =>
      log.info({ ...whoOf(connection), error: message }, "OpAMP connection failed"),
    onSlowReader: (connection) => onRefused({ code: "reader_too_slow", ...whoOf(connection) }),
    onClosed(connection, code) {
      connections.delete(connection);
      receive.closed(connection, `closed with ${code}`);
    },
  };
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
