/** What the supervisor saves of the last configuration that it was sent. */
import { encodeServerToAgent } from "../../src/protocol/codec.ts";

const REMOTE_CONFIG_TAG = 0x1a;
const LENGTH_DELIMITED = 2;

/** An `AgentRemoteConfig` in bytes with one file for each body, named so that the last one wins. */
export function savedRemoteConfig(...bodies: readonly string[]): Uint8Array {
  const files = bodies.map((body, at) => [`f${at}`, { body: Buffer.from(body), contentType: "" }] as const);
  const message = encodeServerToAgent({
    instanceUid: "00000000-0000-0000-0000-000000000000",
    flags: 0n,
    capabilities: 0n,
    remoteConfig: { config: new Map(files), configHash: Buffer.from("h") },
  });
  // the message begins with a byte of ours; then fields, of which one is the configuration
  for (let at = 1; at < message.byteLength;) {
    const tag = message[at++] ?? 0;
    const { value: length, next } = varint(message, at);
    at = next;
    if (tag === REMOTE_CONFIG_TAG) return message.subarray(at, at + length);
    if ((tag & 7) === LENGTH_DELIMITED) at += length;
  }
  throw new Error("the message has no remote configuration");
}

function varint(bytes: Uint8Array, from: number): { value: number; next: number } {
  let value = 0;
  for (let at = from; ; at++) {
    const byte = bytes[at] ?? 0;
    value += (byte & 0x7f) << (7 * (at - from));
    if (byte < 0x80) return { value, next: at + 1 };
  }
}

/**
 * Bodies, and why the supervisor does not start on them, as the host program says it; undefined: it starts. The second
 * column is checked against the real supervisor in `test/interop/real-saved-config.test.ts`.
 */
export const SAVED_BODIES: readonly (readonly [name: string, body: string, problem: string | undefined])[] = [
  ["a mapping", "a: {b: 1}\n", undefined],
  ["nothing", "", undefined],
  ["only comments", "# nothing\n", undefined],
  ["null", "~\n", undefined],
  ["two documents, of which it reads the first", "a: 1\n---\nb: [\n", undefined],
  ["duplicate keys", "a: 1\na: 2\n", "is not valid YAML"],
  ["duplicate keys further down", "a:\n  b: 1\n  b: 2\n", "is not valid YAML"],
  ["a tab as indent", "a:\n\tb: 1\n", "is not valid YAML"],
  ["a list", "- a\n", "is not a mapping"],
  ["a scalar", "text\n", "is not a mapping"],
  ["an end too early", "a: {b: 1\n", "is not valid YAML"],
  ["an unknown alias", "a: *b\n", "is not valid YAML"],
];
