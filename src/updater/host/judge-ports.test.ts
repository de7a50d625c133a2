/** Who is in the way of a start, by what the configuration opens and who listens. */
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { listeningPorts, METRICS_PORT } from "../../domain/update/listening-ports.ts";
import { judgePorts } from "./judge-ports.ts";
import type { PortHolder } from "./ports.ts";
import { isCollectorOf, type HostProcess } from "./processes.ts";

const one = (pid: number, ...args: string[]): HostProcess => ({
  pid,
  parent: 1,
  started: "1",
  args,
  executable: args[0] ?? "",
});
const on = (port: number, process: HostProcess, where: PortHolder["on"] = "loopback"): PortHolder => ({
  port,
  on: where,
  process,
});

describe("the port of the supervisor's first start", () => {
  const isOurs = isCollectorOf("/opt/otelcol", "otelcol-contrib");
  const ours = one(10, "/opt/otelcol/current/otelcol-contrib", "--config", "x");
  const stranger = one(11, "/usr/sbin/nginx", "--secret=s");

  const supervisor = { ...one(9, "opampsupervisor"), started: "50" };
  const judge = (holders: PortHolder[], processes: HostProcess[], supervisorPid?: number) =>
    judgePorts({ holders, processes, supervisorPid, isOurs, wanted: [] });
  const held = [on(METRICS_PORT, { ...stranger, started: "60" })];

  it("is no problem when nobody or our own collector holds it", () => {
    expect(judge([], [])).toBeUndefined();
    expect(judge([on(METRICS_PORT, ours)], [ours])).toBeUndefined();
    expect(judge([on(80, stranger)], [stranger])).toBeUndefined();
  });

  it("held by a stranger is one that names it, without its arguments", () => {
    const problem = judge(held, [ours, supervisor, stranger], supervisor.pid);
    expect(problem).toMatch(/^port 8888 is held by process 11 \(nginx\), which is no collector of this installation; /);
    expect(problem).not.toContain("secret");
  });

  it("held by one who was there before the supervisor did not keep it from starting; unless it does not run", () => {
    const older = [on(METRICS_PORT, { ...stranger, started: "6" })];
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

describe("a port that the configuration opens", () => {
  const isOurs = isCollectorOf("/opt/otelcol", "otelcol-contrib");
  const ours = one(10, "/opt/otelcol/current/otelcol-contrib", "--set=service.telemetry.metrics.level=none");
  const stranger = { ...one(11, "/usr/bin/python3", "-m", "jupyter"), started: "6" };
  const judge = (holders: PortHolder[], config: string, processes = [ours]) =>
    judgePorts({ holders, processes, supervisorPid: undefined, isOurs, wanted: listeningPorts(parse(config)) });
  const OTLP = `receivers: {otlp: {protocols: {grpc: {endpoint: "ADDRESS"}}}}
service: {pipelines: {traces: {receivers: [otlp]}}}`;

  it("held by a stranger is a problem that names both, whoever was there first", () => {
    const problem = judge([on(4317, stranger)], OTLP.replace("ADDRESS", "localhost:4317"));
    expect(problem).toMatch(
      /^port 4317 is held by process 11 \(python3\), which is no .* opens it \(receivers\/otlp\): /,
    );
    expect(judge([on(4317, ours)], OTLP.replace("ADDRESS", "localhost:4317"))).toBeUndefined();
  });

  it.each([
    ["0.0.0.0:4317", "other", true],
    ["0.0.0.0:4317", "loopback", true],
    [":4317", "any", true],
    ["127.0.0.1:4317", "other", false],
    ["10.0.0.1:4317", "loopback", false],
    ["10.0.0.1:4317", "any", true],
    ["10.0.0.1:4317", "other", false], // which of the others is not known
    ["localhost:4318", "any", false],
  ] as const)("%s is met by a listener on %s: %s", (address, where, meets) => {
    expect(judge([on(4317, stranger, where)], OTLP.replace("ADDRESS", address)) !== undefined).toBe(meets);
  });

  it("is not that of the metrics where the collector's command line says otherwise: a notebook on 8888 may stay", () => {
    expect(judge([on(METRICS_PORT, stranger)], "service: {}")).toBeUndefined();
    const plain = one(10, "/opt/otelcol/current/otelcol-contrib", "--config", "x");
    expect(judge([on(METRICS_PORT, stranger)], "service: {}", [plain])).toContain(
      "opens it (service.telemetry.metrics)",
    );
  });
});
