/** An HTTP proxy before one listener of a depot: counts what goes through, and cuts, holds or refuses what it is told to. */
import { once } from "node:events";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export type Passed = { method: string; path: string; status: number | undefined; sent: number; received: number };
/** Asked for each request: the number of body bytes after which it is cut; undefined lets it through. */
export type CutAfter = (method: string, path: string) => number | undefined;

export type DepotProxy = {
  url: string;
  /** Requests since `forget`, in the order of their arrival. */
  passed: Passed[];
  /** Bytes of both directions on the connections since `forget`, heads included. */
  wireBytes(): number;
  forget(): void;
  cutAfter: CutAfter;
  /** Called when a request has come, before it goes on. */
  arriving: (method: string, path: string) => void | Promise<void>;
  /** While it hangs requests are taken and nothing is answered. */
  hang(on: boolean): void;
  close(): Promise<void>;
};

/** `target` may change with a restart of the node: it is asked for each request. */
export async function startDepotProxy(target: () => string): Promise<DepotProxy> {
  const sockets = new Set<Socket>();
  let before = 0;
  let hanging = false;
  const wire = (): number => {
    let sum = ended;
    for (const socket of sockets) sum += socket.bytesRead + socket.bytesWritten;
    return sum;
  };
  let ended = 0;
  const server = createServer((incoming, answer) => {
    const passed: Passed = {
      method: incoming.method ?? "",
      path: incoming.url ?? "",
      status: undefined,
      sent: 0,
      received: 0,
    };
    proxy.passed.push(passed);
    if (hanging) return;
    relay(incoming, answer, passed, target(), proxy).catch(() => answer.destroy());
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      ended += socket.bytesRead + socket.bytesWritten;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: DepotProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed: [],
    wireBytes: () => wire() - before,
    forget: () => {
      proxy.passed = [];
      before = wire();
    },
    cutAfter: () => undefined,
    arriving: () => undefined,
    hang: (on) => void (hanging = on),
    close: async () => {
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
  return proxy;
}

async function relay(
  incoming: IncomingMessage,
  answer: ServerResponse,
  passed: Passed,
  target: string,
  { arriving, cutAfter }: DepotProxy,
): Promise<void> {
  const { method = "", url = "" } = incoming;
  await arriving(method, url);
  const limit = cutAfter(method, url) ?? Number.POSITIVE_INFINITY;
  const onward = request(target + url, { method, headers: incoming.headers });
  const cut = (): void => {
    onward.destroy();
    incoming.destroy();
  };
  onward.on("error", () => answer.destroy());
  answer.on("close", () => onward.destroy());
  onward.on("response", (reply) => {
    passed.status = reply.statusCode;
    answer.writeHead(reply.statusCode ?? 502, reply.headers);
    reply.on("data", (chunk: Buffer) => (passed.received += chunk.length));
    reply.on("error", () => answer.destroy());
    reply.pipe(answer);
  });
  if (limit === 0) return cut();
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    const part = chunk.subarray(0, limit - passed.sent);
    passed.sent += part.length;
    // what counts as sent has left: a cut does not take it back
    if (part.length > 0) await new Promise((written) => onward.write(part, written));
    if (passed.sent >= limit) return cut();
  }
  onward.end();
}
