/** A TCP balancer before several replicas: each new connection goes to one that answers, and all can be cut at once. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export type Front = {
  port: number;
  /** Connections at the moment, by the port that they go to. */
  open(): Map<number, number>;
  connections(): number;
  /** Upgraded connections since `forget`, and what clients said over them after the upgrade. */
  said(): { connections: number; bytes: number };
  forget(): void;
  /** The network breaks for a part of the connections, chosen by `chance`. */
  cut(share: number): void;
  stop(): Promise<void>;
};

const END_OF_HEAD = "\r\n\r\n";

/** `chance` in [0, 1) chooses. With nobody listening the client is cut, as by a balancer without a backend. */
export async function startFront(ports: readonly number[], chance: () => number): Promise<Front> {
  const pairs = new Map<Socket, { backend: Socket; port: number }>();
  let said = { connections: 0, bytes: 0 };

  const relay = (client: Socket, backend: Socket, port: number): void => {
    pairs.set(client, { backend, port });
    const counted = said;
    let head: string | undefined = "";
    client.on("data", (data: Buffer) => {
      if (head === undefined) counted.bytes += data.length;
      else {
        head += data.toString("latin1");
        const end = head.indexOf(END_OF_HEAD);
        if (end === -1) return;
        counted.bytes += head.length - end - END_OF_HEAD.length;
        counted.connections++;
        head = undefined;
      }
    });
    client.pipe(backend).pipe(client);
  };
  const accept = async (client: Socket): Promise<void> => {
    client.on("error", () => client.destroy());
    const first = Math.floor(chance() * ports.length);
    for (let i = 0; i < ports.length; i++) {
      const port = ports[(first + i) % ports.length] ?? 0;
      const backend = connect(port, "127.0.0.1");
      if (!(await isConnected(backend))) continue;
      backend.on("error", () => backend.destroy());
      // Whichever end goes takes the other with it.
      client.once("close", () => backend.destroy());
      backend.once("close", () => {
        pairs.delete(client);
        client.destroy();
      });
      if (client.destroyed) return void backend.destroy();
      return relay(client, backend, port);
    }
    client.destroy();
  };
  const server = createServer((client) => void accept(client));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    open() {
      const counts = new Map(ports.map((port) => [port, 0]));
      for (const { port } of pairs.values()) counts.set(port, (counts.get(port) ?? 0) + 1);
      return counts;
    },
    connections: () => pairs.size,
    said: () => said,
    forget: () => void (said = { connections: 0, bytes: 0 }),
    cut(share) {
      for (const client of pairs.keys()) if (chance() < share) client.destroy();
    },
    async stop() {
      for (const client of pairs.keys()) client.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

const isConnected = (socket: Socket): Promise<boolean> =>
  new Promise((resolve) => {
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
  });
