/**
 * What the collector is started with: base configurations and the remote one, merged as the supervisor merges them.
 * Files go in the order of their names with the unnamed one last; maps are merged, lists replaced, except the list of
 * service extensions, which is united.
 */
import { parseAllDocuments, stringify } from "yaml";
import type { ConfigMap } from "../../protocol/messages.ts";

export type Mapping = { [key: string]: unknown };

/** Keeps a collector running while there is nothing to collect yet. */
const NO_OP: Mapping = {
  receivers: { nop: null },
  exporters: { nop: null },
  service: { pipelines: { traces: { receivers: ["nop"], exporters: ["nop"] } } },
};

const isMapping = (value: unknown): value is Mapping =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The mapping in a file. Throws with the parser's text for what does not parse, and for a list or scalar at the top. Of
 * several documents only the first is used, and no word is said about the others: so does the real one.
 */
export function readMapping(text: string): Mapping {
  const [first] = parseAllDocuments(text, { uniqueKeys: true });
  if (first === undefined || "empty" in first) return {};
  const [error] = first.errors;
  if (error !== undefined) throw new Error(error.message.split("\n")[0] ?? "yaml: the document does not parse");
  const value = first.toJS() as unknown;
  if (value === null || value === undefined) return {};
  if (!isMapping(value)) throw new Error("yaml: the document is no mapping");
  return value;
}

/** Merges base texts and the files of a remote configuration into one. Throws as `readMapping` does. */
export function mergeConfigs(base: readonly string[], remote: ConfigMap | undefined): Mapping {
  const files = [...(remote ?? [])].toSorted(([a], [b]) => byName(a, b));
  const bodies = files.map(([, file]) => new TextDecoder().decode(file.body));
  const merged = [...base, ...bodies].map(readMapping).reduce<Mapping>((under, over) => merge(under, over), {});
  return remote === undefined && merged["receivers"] === undefined ? merge(NO_OP, merged) : merged;
}

/** In the order of names; the file without a name comes last and so wins. */
function byName(a: string, b: string): number {
  if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
  return a < b ? -1 : 1;
}

function merge(under: Mapping, over: Mapping, path = ""): Mapping {
  const merged: Mapping = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    const here = `${path}/${key}`;
    if (isMapping(below) && isMapping(value)) merged[key] = merge(below, value, here);
    else if (here === "/service/extensions" && Array.isArray(below) && Array.isArray(value))
      merged[key] = [...new Set([...(below as unknown[]), ...(value as unknown[])])];
    else merged[key] = value;
  }
  return merged;
}

/** One block-style document without folding or aliases. */
export function emit(config: Mapping): string {
  return stringify(config, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** `${env:NAME}` as the collector expands it in what it reports of itself. */
export function expandEnvironment(text: string, environment: NodeJS.ProcessEnv): string {
  return text.replaceAll(
    /\$\{env:([A-Za-z_]\w*)(?::-([^}]*))?\}/g,
    (_, name: string, otherwise?: string) => environment[name] ?? otherwise ?? "",
  );
}

/** `host:port` of the collector's health endpoint; undefined when the service does not use the extension. */
export function healthEndpointOf(config: Mapping): string | undefined {
  const service = asMapping(config["service"]);
  const used = service["extensions"];
  if (!Array.isArray(used) || !used.includes("health_check")) return undefined;
  const { endpoint } = asMapping(asMapping(config["extensions"])["health_check"]);
  return typeof endpoint === "string" ? endpoint : "localhost:13133";
}

/** Names of components as the collector's health report groups them: `extensions`, `pipeline:<name>`. */
export function componentGroups(config: Mapping): Map<string, string[]> {
  const service = asMapping(config["service"]);
  const named = (prefix: string, ids: unknown) =>
    Array.isArray(ids) ? ids.filter((id) => typeof id === "string").map((id) => `${prefix}:${id}`) : [];
  const groups = new Map([["extensions", named("extension", service["extensions"])]]);
  for (const [name, pipeline] of Object.entries(asMapping(service["pipelines"]))) {
    const { receivers, processors, exporters } = asMapping(pipeline);
    groups.set(`pipeline:${name}`, [
      ...named("receiver", receivers),
      ...named("processor", processors),
      ...named("exporter", exporters),
    ]);
  }
  return groups;
}

function asMapping(value: unknown): Mapping {
  return isMapping(value) ? value : {};
}
