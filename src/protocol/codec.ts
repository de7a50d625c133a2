/**
 * Frames of an OpAMP WebSocket: a header (varint, always 0, one byte) and a protobuf message. Encoding is canonical
 * (fields in order of their numbers, map entries in a fixed order), so that equal data are equal bytes. Whatever cannot be decoded is
 * Malformed; nothing else is thrown for bytes from outside.
 */
import protobuf from "protobufjs/minimal.js";
import { fromAgentToServer, toAgentToServer } from "./agent-to-server.ts";
import { opamp as pb } from "./generated/opamp.js";
import { Malformed, malformed } from "./malformed.ts";
import type { AgentToServer, ComponentHealth, ServerToAgent } from "./messages.ts";
import { fromServerToAgent, toServerToAgent } from "./server-to-agent.ts";
import { fromHealth, toHealth } from "./wire.ts";

export { Malformed } from "./malformed.ts";

/** What the specification recommends; sender and receiver both keep to it. */
export const DEFAULT_MAX_MESSAGE_BYTES = 64 * 1024 ** 2;

/** The frame of a message, header byte included. */
export const encodeAgentToServer = (message: AgentToServer): Uint8Array =>
  framed(pb.AgentToServer.encode(fromAgentToServer(message), writer()).finish());

/** The frame of a message, header byte included. */
export const encodeServerToAgent = (message: ServerToAgent): Uint8Array =>
  framed(pb.ServerToAgent.encode(fromServerToAgent(message), writer()).finish());

/** Throws Malformed when the frame is no AgentToServer, names no agent, or is larger than `maxBytes`. */
export const decodeAgentToServer = (frame: Uint8Array, maxBytes = DEFAULT_MAX_MESSAGE_BYTES): AgentToServer =>
  decoded(frame, maxBytes, (body) => toAgentToServer(pb.AgentToServer.decode(body)));

/** Throws Malformed when the frame is no ServerToAgent or is larger than `maxBytes`. */
export const decodeServerToAgent = (frame: Uint8Array, maxBytes = DEFAULT_MAX_MESSAGE_BYTES): ServerToAgent =>
  decoded(frame, maxBytes, (body) => toServerToAgent(pb.ServerToAgent.decode(body)));

/** Bytes of a health report alone, as they are kept in the database. */
export const encodeHealth = (health: ComponentHealth): Uint8Array =>
  Uint8Array.from(pb.ComponentHealth.encode(fromHealth(health), writer()).finish());

/** Reads what `encodeHealth` wrote, or the same sub-message of a frame. Throws Malformed. */
export const decodeHealth = (bytes: Uint8Array): ComponentHealth =>
  guarded(() => toHealth(pb.ComponentHealth.decode(asBuffer(bytes))));

/** Half a surrogate pair would become bytes that Go refuses to read: it is sent as U+FFFD. */
function writer(): protobuf.Writer {
  const made = protobuf.Writer.create();
  const plain = made.string.bind(made);
  made.string = (value) => plain(value.toWellFormed());
  return made;
}

function framed(body: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(body.length + 1);
  frame[0] = 0;
  frame.set(body, 1);
  return frame;
}

function decoded<T>(frame: Uint8Array, maxBytes: number, decode: (body: Uint8Array) => T): T {
  if (frame.length > maxBytes) throw malformed(`larger than ${maxBytes} bytes`);
  return guarded(() => decode(bodyOf(frame)));
}

/** Old clients send no header: their first byte is the tag of field 1, and never 0. */
function bodyOf(frame: Uint8Array): Uint8Array {
  const buffer = asBuffer(frame);
  if (buffer.length === 0) return buffer;
  if (buffer[0] === 0) return buffer.subarray(1);
  if (buffer[0] === 0x0a) return buffer;
  throw malformed("the frame's header is not 0");
}

/** protobufjs reads a Buffer faster than a Uint8Array. */
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);

function guarded<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    // The library's errors name offsets, field numbers or encodings; they may be told, content is not in them.
    throw error instanceof Malformed ? error : malformed("not a protobuf message of this kind", error);
  }
}
