/** Which server, as whom: options, then environment, then what a quickstart left in its data folder. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";

export type ConnectionOptions = { server?: string | undefined; tokenFile?: string | undefined };
export type Connection = { server: string; token: string };

/** Wrong use: the text says what to do. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const quickstart = z.object({ server: z.string(), tokenFile: z.string() });
const CLONE = fileURLToPath(new URL("../../", import.meta.url));

/** The connection to use. Fails with `UsageError` when nothing names a server or the token cannot be read. */
export async function findConnection(options: ConnectionOptions, env: NodeJS.ProcessEnv): Promise<Connection> {
  const server = options.server ?? env["MYRIARCH_SERVER"];
  const tokenFile = options.tokenFile ?? env["MYRIARCH_TOKEN_FILE"];
  if (server !== undefined && tokenFile !== undefined)
    return { server: checked(server), token: await readToken(tokenFile) };
  const local = await findQuickstart(env);
  if (local === undefined)
    throw new UsageError(
      "no server is named: give --server URL and --token-file FILE, set MYRIARCH_SERVER and MYRIARCH_TOKEN_FILE, " +
        "or run this where a quickstart runs",
    );
  // a token is sent only to the server that it belongs to
  if (server !== undefined && checked(server) !== checked(local.server))
    throw new UsageError(`give --token-file FILE: the quickstart's token belongs to ${local.server}, not to ${server}`);
  return { server: checked(local.server), token: await readToken(tokenFile ?? local.tokenFile) };
}

function checked(server: string): string {
  const url = URL.parse(server);
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new UsageError(`${server} is not an http or https URL`);
  return url.origin;
}

async function readToken(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch((error: Error) => {
    throw new UsageError(`the token file cannot be read: ${error.message}`);
  });
  const token = text.trim();
  if (!/^\S{1,512}$/.test(token)) throw new UsageError(`the token file ${file} does not hold one token`);
  return token;
}

async function findQuickstart(env: NodeJS.ProcessEnv): Promise<z.output<typeof quickstart> | undefined> {
  const named = env["MYRIARCH_DATA"];
  const folders = named === undefined ? [join(process.cwd(), ".myriarch"), join(CLONE, ".myriarch")] : [named];
  for (const folder of folders) {
    const file = join(folder, "cli.json");
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw new UsageError(`${file} cannot be read: ${error.message}`);
    });
    if (text === undefined) continue;
    const parsed = quickstart.safeParse(JSON.parse(text));
    if (!parsed.success) throw new UsageError(`${file} does not name server and tokenFile`);
    return parsed.data;
  }
  return undefined;
}
