/** An `AgentRemoteConfig` by itself, as a supervisor keeps the last one that it was sent. */
import { decodeServerToAgent } from "./codec.ts";
import type { AgentRemoteConfig } from "./messages.ts";
import { Malformed } from "./malformed.ts";

/** Field 3 of a message from the server, length-delimited; before it the frame's header. */
const AS_FIELD_OF_A_MESSAGE = [0, 0x1a];

/** Throws `Malformed` for bytes that are none; no byte at all is one without content. */
export function decodeRemoteConfig(bytes: Uint8Array): AgentRemoteConfig {
  // within a message, so that the one decoder that exists, and its strictness, reads it
  const length: number[] = [];
  for (let rest = bytes.byteLength; ; rest = Math.floor(rest / 128)) {
    length.push(rest >= 128 ? (rest % 128) + 128 : rest);
    if (rest < 128) break;
  }
  const { remoteConfig } = decodeServerToAgent(
    Buffer.concat([Buffer.from([...AS_FIELD_OF_A_MESSAGE, ...length]), bytes]),
  );
  if (remoteConfig === undefined) throw new Malformed("not a remote configuration");
  return remoteConfig;
}
