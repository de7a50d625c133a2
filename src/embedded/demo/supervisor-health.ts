import { createServer, type Server } from "node:http";

/**
 * The supervisor's own health: `/health` answers 200 as soon as `ready`, which says neither that a collector runs nor that
 * the server is reachable. Listens when this resolves; without an endpoint nothing does.
 */
export async function serveHealth(endpoint: string | undefined, ready: () => boolean): Promise<Server | undefined> {
  if (endpoint === undefined) return undefined;
  const { hostname: host, port } = new URL(`http://${endpoint}`);
  const server = createServer((request, response) => {
    response.writeHead(request.url !== "/health" ? 404 : ready() ? 200 : 503).end();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(Number(port), host, resolve);
  });
  return server;
}
