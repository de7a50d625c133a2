/** Who listens where, by real sockets where the system tells. */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { findHolders, holderText, listenersOf } from "./ports.ts";
import type { HostProcess } from "./processes.ts";

const one = (pid: number, ...args: string[]): HostProcess => ({
  pid,
  parent: 1,
  started: "1",
  args,
  executable: args[0] ?? "",
});

describe("holders of ports", () => {
  it.skipIf(process.platform !== "linux")("are found with their process, on one address or on all", async () => {
    for (const address of ["127.0.0.1", "0.0.0.0", "::"]) {
      const server = createServer().listen(0, address);
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const found = await findHolders(new Set([port]));
      expect(
        found.map((it) => [it.on, it.process.pid]),
        address,
      ).toEqual([[address === "127.0.0.1" ? "loopback" : "any", process.pid]]);
      expect(holderText(found[0] ?? { port: 0, on: "any", process: one(0) })).toBe(
        `port ${port} is held by process ${process.pid} (node)`,
      );
      server.close();
      await once(server, "close");
      expect(await findHolders(new Set([port]))).toEqual([]);
    }
  });

  it("are sockets that listen, on every address, on the loopback one, or on another", () => {
    const row = (address: string, state: string) =>
      `   0: ${address}:22B8 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0`;
    const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
    const found = (address: string, state = "0A") => listenersOf([header, row(address, state), ""].join("\n"));
    const hit = (on: string) => [{ port: 8888, on, inode: "4711" }];
    expect(found("0100007F")).toEqual(hit("loopback"));
    expect(found("00000000")).toEqual(hit("any"));
    expect(found("0".repeat(32))).toEqual(hit("any"));
    expect(found("0000000000000000FFFF00000100007F")).toEqual(hit("loopback")); // 127.0.0.1 mapped
    expect(found("0A00A8C0")).toEqual(hit("other")); // 192.168.0.10
    expect(found("00000000000000000000000001000000")).toEqual(hit("other")); // ::1, where no collector looks first
    expect(found("0100007F", "01")).toEqual([]); // a connection
  });
});
