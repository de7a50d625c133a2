/**
 * The TCP ports that a collector will open, by its configuration: those of its own metrics, and of the extensions and
 * receivers that are known to listen. `endpoint` of other components may as well name what they connect to, so what is not
 * in the tables is not asked about.
 */
import { isMap } from "../agents/config-compare.ts";

/** Of a collector's own metrics, where nobody configured another. */
export const METRICS_PORT = 8888;

export type ListeningPort = {
  port: number;
  /** `any`: all addresses of the machine; `other`: one that is neither that nor the loopback one. */
  on: "any" | "loopback" | "other";
  /** Who opens it, as the configuration names it. */
  what: string;
};

/** Where a setting stands below the component, and what counts when it is left out of a section that is there. */
type Setting = readonly [section: readonly string[], key: string, otherwise: string];
const LISTENING: Readonly<Record<string, readonly Setting[]>> = {
  "extensions/health_check": [[[], "endpoint", "localhost:13133"]],
  "extensions/pprof": [[[], "endpoint", "localhost:1777"]],
  "extensions/zpages": [[[], "endpoint", "localhost:55679"]],
  "receivers/otlp": [
    [["protocols", "grpc"], "endpoint", "localhost:4317"],
    [["protocols", "http"], "endpoint", "localhost:4318"],
  ],
  "receivers/jaeger": [
    [["protocols", "grpc"], "endpoint", "localhost:14250"],
    [["protocols", "thrift_http"], "endpoint", "localhost:14268"],
  ],
  "receivers/zipkin": [[[], "endpoint", "localhost:9411"]],
};

/** Of a configuration as parsed YAML. What cannot be told (a variable, a host name, a Unix socket) is left out. */
export function listeningPorts(config: unknown): ListeningPort[] {
  if (!isMap(config)) return [];
  const service = mapOf(config["service"]);
  const pipelines = Object.values(mapOf(service["pipelines"])).map(mapOf);
  const used = [
    ...textsOf(service["extensions"]).map((id) => ["extensions", id] as const),
    ...pipelines.flatMap(({ receivers }) => textsOf(receivers).map((id) => ["receivers", id] as const)),
  ];
  const names = new Map(used.map(([section, id]) => [`${section}/${id}`, [section, id] as const]));
  const opened = [...names.values()].flatMap(([section, id]) => {
    const settings = LISTENING[`${section}/${(id.split("/")[0] ?? id).trim()}`] ?? [];
    const component = mapOf(config[section])[id];
    return settings.flatMap((setting) => portOf(component, setting, `${section}/${id}`));
  });
  return [...metricsPorts(mapOf(mapOf(service["telemetry"])["metrics"])), ...opened];
}

const mapOf = (value: unknown): Readonly<Record<string, unknown>> => (isMap(value) ? value : {});
const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((it): it is string => typeof it === "string") : [];

/** A section that is there may be empty, and then has its defaults; one that is absent is off. */
function portOf(component: unknown, [section, key, otherwise]: Setting, what: string): ListeningPort[] {
  let at: unknown = component;
  for (const name of section) {
    if (!isMap(at) || !Object.hasOwn(at, name)) return [];
    at = at[name];
  }
  const settings = mapOf(at);
  const transport = settings["transport"] ?? "tcp";
  if (typeof transport !== "string" || !transport.startsWith("tcp")) return [];
  return parseEndpoint(settings[key] ?? otherwise, what);
}

function metricsPorts(metrics: Readonly<Record<string, unknown>>): ListeningPort[] {
  const what = "service.telemetry.metrics";
  if (metrics["level"] === "none") return [];
  const { readers, address } = metrics;
  if (Array.isArray(readers))
    return readers.flatMap((reader: unknown) => {
      const { prometheus } = mapOf(mapOf(mapOf(reader)["pull"])["exporter"]);
      if (!isMap(prometheus)) return [];
      const { host = "localhost", port = METRICS_PORT } = prometheus;
      return parseEndpoint(`${String(host)}:${String(port)}`, what);
    });
  return parseEndpoint(address ?? `localhost:${METRICS_PORT}`, what);
}

function parseEndpoint(endpoint: unknown, what: string): ListeningPort[] {
  const [, host = "", digits = ""] = /^(\[[^\]]*\]|[^:[\]]*):(\d{1,5})$/.exec(String(endpoint)) ?? [];
  const port = Number(digits);
  if (digits === "" || port === 0 || port > 65_535) return []; // 0: the system chooses a free one
  if (["", "0.0.0.0", "[::]"].includes(host)) return [{ port, on: "any", what }];
  if (host === "localhost" || host.startsWith("127.")) return [{ port, on: "loopback", what }];
  return /^\d+(?:\.\d+){3}$/.test(host) ? [{ port, on: "other", what }] : [];
}
