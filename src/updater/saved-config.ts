/**
 * The remote configuration that the supervisor saved. It saves the bytes before it checks them, and does not start again on
 * bytes that it cannot read: stopping it then would lose the host, whatever is installed. Of several YAML documents it reads
 * the first; an empty body or only comments it reads as nothing, and starts.
 */
import { parseAllDocuments } from "yaml";
import { decodeServerToAgent } from "../protocol/codec.ts";
import { readForeignFile } from "./files.ts";

/** Why the supervisor would not start on the file at `path`, to follow "its saved configuration"; undefined: it would. */
export async function savedConfigProblem(path: string): Promise<string | undefined> {
  const bytes = await readForeignFile(path);
  if (bytes === undefined || bytes.byteLength === 0) return undefined;
  return unreadableBecause(bytes);
}

/** Why the supervisor would refuse a saved AgentRemoteConfig; undefined when it would not. */
function unreadableBecause(bytes: Uint8Array): string | undefined {
  let bodies: Uint8Array[];
  try {
    // as field 3 of a message from the server: the one decoder that exists reads it
    const length: number[] = [];
    for (let rest = bytes.byteLength; ; rest = Math.floor(rest / 128)) {
      length.push(rest >= 128 ? (rest % 128) + 128 : rest);
      if (rest < 128) break;
    }
    const message = decodeServerToAgent(Buffer.concat([Buffer.from([0, 0x1a, ...length]), bytes]));
    bodies = Array.from(message.remoteConfig?.config.values() ?? [], ({ body }) => body);
  } catch {
    return "does not decode"; // whatever the decoder says of foreign bytes is of no use to a reader
  }
  for (const body of bodies) {
    try {
      const documents = parseAllDocuments(new TextDecoder("utf-8", { fatal: true }).decode(body));
      const first = "empty" in documents ? undefined : documents[0];
      if (first === undefined) continue;
      if (first.errors.length > 0) return "is not valid YAML";
      const value: unknown = first.toJS();
      if (value !== null && (typeof value !== "object" || Array.isArray(value))) return "is not a mapping";
    } catch {
      return "is not valid YAML"; // bad UTF-8, aliases without end: the supervisor's parser refuses them as well
    }
  }
  return undefined;
}
