import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { listeningPorts } from "./listening-ports.ts";

const ports = (yaml: string): string[] =>
  listeningPorts(parse(yaml)).map(({ port, on, what }) => `${what} ${on} ${port}`);
const METRICS = "service.telemetry.metrics loopback 8888";
const metrics = (yaml: string): string[] => ports(`service: {telemetry: {metrics: ${yaml}}}`);

describe("the ports that a collector will open", () => {
  it("are its metrics' default one where nothing is said", () => {
    for (const yaml of ["{}", "service: {}", "service: {telemetry: {metrics: {level: normal}}}"])
      expect(ports(yaml), yaml).toEqual([METRICS]);
    for (const nothing of [null, "text", []]) expect(listeningPorts(nothing)).toEqual([]);
  });

  it.each([
    ["{level: none}", []],
    ["{address: 'localhost:9999'}", ["service.telemetry.metrics loopback 9999"]],
    ["{address: ':9999'}", ["service.telemetry.metrics any 9999"]],
    ["{readers: []}", []],
    ["{readers: [{periodic: {exporter: {otlp: {endpoint: 'http://x:4318'}}}}]}", []],
    [
      "{readers: [{pull: {exporter: {prometheus: {host: 0.0.0.0, port: 8889}}}}]}",
      ["service.telemetry.metrics any 8889"],
    ],
    ["{readers: [{pull: {exporter: {prometheus: null}}}]}", []],
    ["{readers: [{pull: {exporter: {prometheus: {}}}}]}", [METRICS]],
  ])("of its metrics with %s", (yaml, expected) => expect(metrics(yaml)).toEqual(expected));

  it("are those of extensions and receivers that it uses and that are known to listen, once each", () => {
    expect(
      ports(`
extensions: {health_check: null, pprof/x: {endpoint: "0.0.0.0:7777"}, zpages: {}, opamp: {server: {}}}
receivers:
  otlp: {protocols: {grpc: null, http: {endpoint: "0.0.0.0:4318"}}}
  otlp/unused: {protocols: {grpc: {endpoint: "localhost:5317"}}}
  redis: {endpoint: "localhost:6379"}
  zipkin: {}
  jaeger: {protocols: {thrift_http: {}}}
service:
  telemetry: {metrics: {level: none}}
  extensions: [health_check, pprof/x, opamp]
  pipelines: {traces: {receivers: [otlp, redis]}, logs: {receivers: [otlp]}, "traces/2": {receivers: [zipkin, jaeger]}}
`).toSorted(),
    ).toEqual([
      "extensions/health_check loopback 13133",
      "extensions/pprof/x any 7777",
      "receivers/jaeger loopback 14268",
      "receivers/otlp any 4318",
      "receivers/otlp loopback 4317",
      "receivers/zipkin loopback 9411",
    ]);
  });

  it.each([
    "${env:HOST}:4317",
    "localhost:${env:PORT}",
    "localhost:0",
    "localhost:99999",
    "collector.example:4317",
    "x",
    "[::1]:4317",
  ])("are not told from %j", (endpoint) => {
    const config = {
      receivers: { zipkin: { endpoint } },
      service: { telemetry: { metrics: { level: "none" } }, pipelines: { t: { receivers: ["zipkin"] } } },
    };
    expect(listeningPorts(config)).toEqual([]);
  });

  it("are none of a Unix socket, nor of a component that is used and not defined", () => {
    const of = (receivers: unknown) =>
      listeningPorts({
        receivers,
        service: { telemetry: { metrics: { level: "none" } }, pipelines: { t: { receivers: ["otlp"] } } },
      });
    expect(of({ otlp: { protocols: { grpc: { endpoint: "/run/otlp.sock", transport: "unix" } } } })).toEqual([]);
    expect(of({})).toEqual([]);
  });
});
