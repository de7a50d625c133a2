import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A free port below what systems give to outgoing connections: while nobody listens at one of those, whoever tries to connect may be
 * given the very same port, and is then connected to itself.
 */
export async function lowPort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 30_000);
    const server = createServer().listen(port, "127.0.0.1");
    const [event] = await Promise.race([once(server, "listening").then(() => ["free"]), once(server, "error")]);
    if (event !== "free") continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
