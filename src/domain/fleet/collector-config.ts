/**
 * Is this a configuration that a collector can start with? Checked before anything is offered (gitops-schema, Blueprint):
 * a map, each pipeline names only components that are defined, none is empty, a connector joins two pipelines.
 */
import { isPlainMap, type Plain, type PlainMap } from "../gitops/plain.ts";
import { closest } from "../config/closest.ts";

export type ConfigProblem = { path: string[]; message: string; hint?: string };

const NULL_HINT = "a null removes what an earlier layer defines: write {} for a component without settings";

/** Everything that is wrong with a rendered configuration. */
export function judgeCollectorConfig(config: Plain): ConfigProblem[] {
  if (!isPlainMap(config) || Object.keys(config).length === 0) {
    return [{ path: [], message: "renders to an empty configuration, which would stop the collector" }];
  }
  const sections = [...SECTIONS, "service"].filter(
    (section) => config[section] != null && !isPlainMap(config[section]),
  );
  if (sections.length > 0) return sections.map((section) => ({ path: [section], message: "must be a map" }));
  const service = mapAt(config, "service");
  const pipelines = mapAt(service, "pipelines");
  if (Object.keys(pipelines).length === 0) {
    return [{ path: ["service", "pipelines"], message: "a collector needs at least one pipeline" }];
  }
  return [
    ...judgeExtensions(config, service),
    ...Object.entries(pipelines).flatMap(([name, pipeline]) => judgePipeline(config, name, pipeline)),
    ...judgeConnectors(config, pipelines),
  ];
}

const SECTIONS = ["receivers", "processors", "exporters", "connectors", "extensions"] as const;
type Section = (typeof SECTIONS)[number];

const mapAt = (map: PlainMap, key: string): PlainMap => {
  const value = Object.hasOwn(map, key) ? map[key] : undefined;
  return isPlainMap(value) ? value : {};
};

function judgeExtensions(config: PlainMap, service: PlainMap): ConfigProblem[] {
  const path = ["service", "extensions"];
  const { ids, problems } = idsOf(service, "extensions", path);
  return [...problems, ...ids.flatMap((id) => undefinedComponent(config, path, id, ["extensions"]))];
}

function judgePipeline(config: PlainMap, name: string, pipeline: Plain): ConfigProblem[] {
  const path = ["service", "pipelines", name];
  if (!isPlainMap(pipeline)) return [{ path, message: "must be a map" }];
  const lists: [string, Section[], boolean][] = [
    ["receivers", ["receivers", "connectors"], true],
    ["processors", ["processors"], false],
    ["exporters", ["exporters", "connectors"], true],
  ];
  return lists.flatMap(([list, sections, isNeeded]) => {
    const { ids, problems } = idsOf(pipeline, list, [...path, list]);
    if (isNeeded && ids.length === 0 && problems.length === 0) {
      problems.push({ path: [...path, list], message: `the pipeline ${name} has no ${list}` });
    }
    return [...problems, ...ids.flatMap((id) => undefinedComponent(config, [...path, list], id, sections))];
  });
}

function idsOf(map: PlainMap, key: string, path: string[]): { ids: string[]; problems: ConfigProblem[] } {
  const value = Object.hasOwn(map, key) ? map[key] : undefined;
  if (value === undefined || value === null) return { ids: [], problems: [] };
  if (!Array.isArray(value)) return { ids: [], problems: [{ path, message: "must be a list of component names" }] };
  const ids = value.filter((id) => typeof id === "string");
  const problems = ids.length === value.length ? [] : [{ path, message: "must hold component names only" }];
  return { ids, problems };
}

function undefinedComponent(config: PlainMap, path: string[], id: string, sections: Section[]): ConfigProblem[] {
  if (sections.some((section) => Object.hasOwn(mapAt(config, section), id))) return [];
  const known = sections.flatMap((section) => Object.keys(mapAt(config, section)));
  const near = closest(id, known);
  const hint = near === undefined ? NULL_HINT : `did you mean ${near}?`;
  return [{ path, message: `${id} is not defined under ${sections.join(" or ")}`, hint }];
}

/** A connector is the exporter of one pipeline and the receiver of another; used on one side only it joins nothing. */
function judgeConnectors(config: PlainMap, pipelines: PlainMap): ConfigProblem[] {
  const used = (list: string): Set<string> =>
    new Set(
      Object.values(pipelines).flatMap((pipeline) => (isPlainMap(pipeline) ? idsOf(pipeline, list, []).ids : [])),
    );
  const receivers = used("receivers");
  const exporters = used("exporters");
  const isConnector = (id: string, section: Section): boolean =>
    Object.hasOwn(mapAt(config, "connectors"), id) && !Object.hasOwn(mapAt(config, section), id);
  const problems: ConfigProblem[] = [];
  for (const id of receivers) {
    if (isConnector(id, "receivers") && !exporters.has(id))
      problems.push({
        path: ["connectors", id],
        message: `the connector ${id} is a receiver but no pipeline's exporter`,
      });
  }
  for (const id of exporters) {
    if (isConnector(id, "exporters") && !receivers.has(id))
      problems.push({
        path: ["connectors", id],
        message: `the connector ${id} is an exporter but no pipeline's receiver`,
      });
  }
  return problems;
}
