/**
 * The remote configuration that the supervisor saved. It saves the bytes before it checks them, in place, and a power cut
 * leaves them empty, cut or full of zeros. What the real one then does at its next start (observed with 0.149):
 * - a body that is no YAML mapping: it ends with "failed loading initial config", at each start, for ever;
 * - bytes that do not decode: it passes over them and runs what its own files say;
 * - no byte at all: it takes that for a configuration without content, stays up, and runs no collector.
 * Of several YAML documents it reads the first; an empty body or only comments it reads as nothing, and starts.
 */
import { parseAllDocuments } from "yaml";
import { decodeRemoteConfig } from "../protocol/remote-config.ts";
import { readForeignFile } from "./files.ts";

/** `because` follows "its saved remote configuration". */
export type SavedConfig =
  | { state: "absent" | "usable" }
  | { state: "empty"; because: string }
  | { state: "undecodable"; because: string }
  | { state: "refused"; because: string };

/** What the supervisor would meet in the file at `path`. */
export async function readSavedConfig(path: string): Promise<SavedConfig> {
  const bytes = await readForeignFile(path);
  if (bytes === undefined) return { state: "absent" };
  // what a server sent is never that short: it has at least its hash
  if (bytes.byteLength === 0) return { state: "empty", because: "is empty" };
  return judge(bytes);
}

/** Why the supervisor must not be stopped on the file at `path`; undefined: it may, or the file can be mended afterwards. */
export async function savedConfigProblem(path: string): Promise<string | undefined> {
  const found = await readSavedConfig(path);
  return found.state === "refused" || found.state === "undecodable" ? found.because : undefined;
}

function judge(bytes: Uint8Array): SavedConfig {
  let bodies: Uint8Array[];
  try {
    bodies = Array.from(decodeRemoteConfig(bytes).config.values(), ({ body }) => body);
  } catch {
    return { state: "undecodable", because: "does not decode" }; // what the decoder says of foreign bytes helps no reader
  }
  const because = bodies.map(refusedBecause).find((reason) => reason !== undefined);
  return because === undefined ? { state: "usable" } : { state: "refused", because };
}

function refusedBecause(body: Uint8Array): string | undefined {
  try {
    const documents = parseAllDocuments(new TextDecoder("utf-8", { fatal: true }).decode(body));
    const first = "empty" in documents ? undefined : documents[0];
    if (first === undefined) return undefined;
    if (first.errors.length > 0) return "is not valid YAML";
    const value: unknown = first.toJS();
    return value !== null && (typeof value !== "object" || Array.isArray(value)) ? "is not a mapping" : undefined;
  } catch {
    return "is not valid YAML"; // bad UTF-8, aliases without end: the supervisor's parser refuses them as well
  }
}
