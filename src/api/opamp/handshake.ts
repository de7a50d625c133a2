/** The server's half of the WebSocket handshake (RFC 6455, 4.2): no extensions, no sub-protocols. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const VERSION = "13";
/** 16 bytes in base64. */
const KEY = /^[+/0-9A-Za-z]{22}==$/;

/** The client's key, or the refusal of what is no handshake of ours; `header` says what would be. */
export function judgeHandshake({
  method,
  headers,
}: Pick<IncomingMessage, "method" | "headers">): { key: string } | { status: number; header?: string } {
  const key = headers["sec-websocket-key"];
  if (method !== "GET") return { status: 405, header: "Allow: GET\r\n" };
  if (headers.upgrade?.toLowerCase() !== "websocket" || key === undefined || !KEY.test(key)) return { status: 400 };
  if (headers["sec-websocket-version"] !== VERSION)
    return { status: 426, header: `Sec-WebSocket-Version: ${VERSION}\r\n` };
  return { key };
}

/** The answer after which the connection speaks WebSocket. */
export function acceptance(key: string): string {
  const accept = createHash("sha1").update(`${key}${GUID}`).digest("base64");
  return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
}
