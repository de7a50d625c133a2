/**
 * What a configuration asks of a collector: the components that its build must have, and the pipelines that then run. A
 * collector refuses a configuration with an unknown component even where no pipeline uses it, so every defined one counts.
 */
import { isMap } from "./config-compare.ts";

export type ConfigNeeds = { components: string[]; pipelines: string[] };

const SECTIONS = ["receivers", "processors", "exporters", "connectors", "extensions"] as const;

/** `data`: the configuration as parsed YAML. Names are `receivers/otlp`, sorted, each once. */
export function needsOf(data: unknown): ConfigNeeds {
  if (!isMap(data)) return { components: [], pipelines: [] };
  const components = SECTIONS.flatMap((section) => keysOf(data[section]).map((id) => `${section}/${typeOf(id)}`));
  const service = data["service"];
  const pipelines = isMap(service) ? keysOf(service["pipelines"]) : [];
  return { components: [...new Set(components)].toSorted(), pipelines: pipelines.toSorted() };
}

const keysOf = (value: unknown): string[] => (isMap(value) ? Object.keys(value) : []);
/** `otlp/backup` is a component of type `otlp`. */
const typeOf = (id: string): string => (id.split("/")[0] ?? id).trim();

/** Types that were renamed: a collector that has one of a pair understands both names. */
const RENAMED: readonly (readonly [string, string])[] = [["exporters/otlp", "exporters/otlpgrpc"]];

/** One spelling of a component's name: `otlphttp` and `otlp_http` are the same. */
const plainName = (name: string): string => name.replaceAll("_", "");

/**
 * Names of a build's components as `missing_components` of the database compares them; `components`: type names by
 * section.
 */
export function availableNames(components: ReadonlyMap<string, readonly string[]>): string[] {
  const names = new Set<string>();
  for (const [section, types] of components) for (const type of types) names.add(plainName(`${section}/${type}`));
  for (const [a, b] of RENAMED) {
    if (names.has(a)) names.add(b);
    else if (names.has(b)) names.add(a);
  }
  return [...names].toSorted();
}

/**
 * Which of `needed` (names as `needsOf` gives them) a build lacks, whichever spelling or name of a renamed type it uses;
 * `components`: the build's type names by section.
 */
export function lackingComponents(
  needed: readonly string[],
  components: ReadonlyMap<string, readonly string[]>,
): string[] {
  const available = new Set(availableNames(components));
  return needed.filter((name) => !available.has(plainName(name)));
}
