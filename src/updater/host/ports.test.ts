/** Who listens where, by real sockets where the system tells. */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { findHolders, holderText, judgeMetricsPort, listenersOf, METRICS_PORT, type PortHolder } from "./ports.ts";
import { isCollectorOf, type HostProcess } from "./processes.ts";

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
      const found = (await findHolders()).filter((it) => it.port === port);
      expect(
        found.map((it) => it.process.pid),
        address,
      ).toEqual([process.pid]);
      expect(holderText(found[0] ?? { port: 0, process: one(0) })).toBe(
        `port ${port} is held by process ${process.pid} (node)`,
      );
      server.close();
      await once(server, "close");
      expect((await findHolders()).filter((it) => it.port === port)).toEqual([]);
    }
  });

  it("are sockets that listen where a collector would meet them", () => {
    const row = (address: string, state: string) =>
      `   0: ${address}:22B8 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0`;
    const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
    const found = (address: string, state = "0A") => listenersOf([header, row(address, state), ""].join("\n"));
    const hit = [{ port: METRICS_PORT, inode: "4711" }];
    expect(found("0100007F")).toEqual(hit);
    expect(found("00000000")).toEqual(hit);
    expect(found("0".repeat(32))).toEqual(hit);
    expect(found("0000000000000000FFFF00000100007F")).toEqual(hit); // 127.0.0.1 mapped
    expect(found("0A00A8C0")).toEqual([]); // 192.168.0.10: another address
    expect(found("00000000000000000000000001000000")).toEqual([]); // ::1, where no collector looks first
    expect(found("0100007F", "01")).toEqual([]); // a connection
  });
});

describe("the port of the collector's metrics", () => {
  const isOurs = isCollectorOf("/opt/otelcol", "otelcol-contrib");
  const ours = one(10, "/opt/otelcol/current/otelcol-contrib", "--config", "x");
  const stranger = one(11, "/usr/sbin/nginx", "--secret=s");

  const supervisor = { ...one(9, "opampsupervisor"), started: "50" };
  const judge = (holders: PortHolder[], processes: HostProcess[], supervisorPid?: number) =>
    judgeMetricsPort({ holders, processes, supervisorPid, isOurs });
  const held = [{ port: METRICS_PORT, process: { ...stranger, started: "60" } }];

  it("is no problem when nobody or our own collector holds it", () => {
    expect(judge([], [])).toBeUndefined();
    expect(judge([{ port: METRICS_PORT, process: ours }], [ours])).toBeUndefined();
    expect(judge([{ port: 80, process: stranger }], [stranger])).toBeUndefined();
  });

  it("held by a stranger is one that names it, without its arguments", () => {
    const problem = judge(held, [ours, supervisor, stranger], supervisor.pid);
    expect(problem).toMatch(/^port 8888 is held by process 11 \(nginx\), which is no collector of this installation; /);
    expect(problem).not.toContain("secret");
  });

  it("held by one who was there before the supervisor did not keep it from starting; unless it does not run", () => {
    const older = [{ port: METRICS_PORT, process: { ...stranger, started: "6" } }];
    expect(judge(older, [supervisor], supervisor.pid)).toBeUndefined();
    expect(judge(older, [supervisor])).toContain("nginx");
  });

  it.each([
    ["--set=service.telemetry.metrics.level=none"],
    ["--set", "service.telemetry.metrics.level=none"],
    ["--set=service.telemetry.metrics.address=127.0.0.1:9999"],
  ])("does not matter to a collector that is told otherwise: %s", (...args) => {
    const told = one(10, "/opt/otelcol/current/otelcol-contrib", ...args);
    expect(judge(held, [told])).toBeUndefined();
  });
});
