/** The floor: `ws` and protobufjs decode what comes, drop it, and echo the UID. A process of its own; see opamp.ts. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import { opamp } from "../src/protocol/generated/opamp.js";

const http = createServer();
const sockets = new WebSocketServer({ server: http, perMessageDeflate: false });
sockets.on("connection", (socket) => {
  socket.on("message", (data) => {
    const message = opamp.AgentToServer.decode((data as Buffer).subarray(1));
    socket.send(Buffer.concat([Buffer.of(0, 0x0a, 16), message.instanceUid ?? Buffer.alloc(16)]));
  });
});
http.listen(0, "127.0.0.1", () =>
  console.log(JSON.stringify({ address: `127.0.0.1:${(http.address() as AddressInfo).port}` })),
);
