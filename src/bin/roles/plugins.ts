/** Routes of the parts that check their own credentials, or need more than the database. */
import type { ApiDeps } from "../../api/app.ts";
import type { ServerSettings } from "../../domain/config/server-config.ts";
import type { Logger } from "pino";
import type { Shared } from "./load.ts";

export async function createPlugins(
  _settings: ServerSettings,
  _shared: Shared,
  _log: Logger,
): Promise<ApiDeps["plugins"]> {
  return { guarded: [], ownCredential: [], root: [] };
}
