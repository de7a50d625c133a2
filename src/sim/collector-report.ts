/** Health, components and configuration of a simulated collector, in the shape in which a supervisor reports them. */
import { hash } from "node:crypto";
import { parse } from "yaml";
import { needsOf } from "../domain/agents/config-needs.ts";
import type { AgentState } from "../protocol/agent-client.ts";
import type { ComponentDetails, ComponentHealth, ConfigMap } from "../protocol/messages.ts";

/** What a collector runs before it has a configuration from the server. */
const BUILT_IN_PIPELINES = ["traces"];
/** Many hosts get the same bytes: they are read once. */
const read = new WeakMap<ConfigMap, string[]>();

/** Throws if the configuration is no YAML. */
export function pipelinesIn(config: ConfigMap): string[] {
  const known = read.get(config);
  if (known !== undefined) return known;
  const body = config.get("")?.body;
  const pipelines =
    body === undefined ? BUILT_IN_PIPELINES : needsOf(parse(Buffer.from(body).toString("utf8"))).pipelines;
  read.set(config, pipelines);
  return pipelines;
}

export function collectorHealth(
  healthy: boolean,
  startNanos: bigint,
  lastError: string,
  pipelines: readonly string[],
): ComponentHealth {
  const part = (error: string, children: [string, ComponentHealth][] = []): ComponentHealth => ({
    healthy,
    startTimeUnixNano: startNanos,
    lastError: error,
    status: healthy ? "StatusOK" : lastError === "" ? "StatusStarting" : "StatusPermanentError",
    statusTimeUnixNano: startNanos,
    componentHealthMap: new Map(children),
  });
  const pipeline = part("", [
    ["receiver:otlp", part("")],
    ["exporter:debug", part("")],
  ]);
  return part(lastError, [
    ["extensions", part("", [["extension:health_check", part("")]])],
    ...pipelines.map((name): [string, ComponentHealth] => [`pipeline:${name}`, pipeline]),
  ]);
}

type Components = NonNullable<AgentState["availableComponents"]>;
const leaf = (): ComponentDetails => ({ metadata: new Map(), subComponentMap: new Map() });

/** `full`: the map with its hash; else the hash alone, until the server asks. */
export function availableComponents(names: readonly string[], full: boolean): Components {
  const digest = hash("sha256", names.toSorted().join(";"), "buffer");
  if (!full) return { components: new Map(), hash: digest };
  const components = new Map<string, ComponentDetails>();
  for (const name of names) {
    const [section = "", type = ""] = name.split("/");
    const parent = components.get(section) ?? leaf();
    parent.subComponentMap.set(type, leaf());
    components.set(section, parent);
  }
  return { components, hash: digest };
}
