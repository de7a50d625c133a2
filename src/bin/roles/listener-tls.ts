/** The files of `server.tls`. */
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { ListenerTls } from "../../api/listener.ts";
import type { ServerSettings } from "../../domain/config/server-config.ts";
import { failure } from "../../domain/errors.ts";

/** Fails with `config_invalid` when a file cannot be read, or when they are no certificate and its key. */
export async function readListenerTls(tls: ServerSettings["server"]["tls"]): Promise<ListenerTls | undefined> {
  if (tls === undefined) return undefined;
  const read = async (key: string, path: string): Promise<string> => {
    try {
      return await readFile(path, "utf8");
    } catch (error) {
      throw failure("config_invalid", { issues: `server.tls.${key}: ${path} cannot be read` }, error);
    }
  };
  const cert = await read("certFile", tls.certFile);
  const key = await read("keyFile", tls.keyFile);
  const ca = tls.clientCaFile === undefined ? undefined : await read("clientCaFile", tls.clientCaFile);
  try {
    createSecureContext({ cert, key, ...(ca !== undefined && { ca }) });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw failure("config_invalid", { issues: `server.tls: the files cannot be used: ${why}` }, error);
  }
  return { cert, key, ...(ca !== undefined && { clientCa: ca }) };
}
