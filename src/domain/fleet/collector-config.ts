/**
 * Is this a configuration that a collector can start with? Checked before anything is offered (gitops-schema, Blueprint):
 * a map, each pipeline names only components that are defined, none is empty, a connector joins two pipelines. Beyond
 * that only what every collector refuses while it reads its configuration, whatever components it was built with.
 * Where the collector is told to fetch a part itself (`${file:/etc/otel/exporters.yaml}`) nobody here knows what it holds,
 * so nothing is said of it.
 */
import { decodeKey, isPlainMap, type Plain, type PlainMap } from "../gitops/plain.ts";
import { closest } from "../config/closest.ts";
import { judgeComponentName, judgePipelineName } from "./component-name.ts";

export type ConfigProblem = { path: string[]; message: string; hint?: string };

const NULL_HINT = "a null removes what an earlier layer defines: write {} for a component without settings";

/** Everything that is wrong with a rendered configuration. */
export function judgeCollectorConfig(config: Plain): ConfigProblem[] {
  if (!isPlainMap(config)) return [{ path: [], message: "renders to something that is not a map" }];
  if (Object.keys(config).length === 0) {
    return [{ path: [], message: "renders to an empty configuration, which would stop the collector" }];
  }
  const shape = [...judgeTopLevel(config), ...[...SECTIONS, "service"].flatMap((key) => mustBeMap(config, key, [key]))];
  if (shape.some(({ path }) => path[0] !== undefined && Object.hasOwn(config, path[0]) && isSection(path[0]))) {
    return shape;
  }
  return [...shape, ...SECTIONS.flatMap((section) => judgeDefinitions(config, section)), ...judgeService(config)];
}

const SECTIONS = ["receivers", "processors", "exporters", "connectors", "extensions"] as const;
type Section = (typeof SECTIONS)[number];
const isSection = (key: string): boolean => key === "service" || SECTIONS.some((section) => section === key);

/** A value that is nothing but a reference: the collector puts in whatever it finds there. */
const isReference = (value: Plain | undefined): boolean =>
  typeof value === "string" && /^\$\{.*\}$/s.test(value.trim());

const mapAt = (map: PlainMap, key: string): PlainMap => {
  const value = valueAt(map, key);
  return isPlainMap(value) ? value : {};
};

const valueAt = (map: PlainMap, key: string): Plain | undefined => (Object.hasOwn(map, key) ? map[key] : undefined);

const mustBeMap = (map: PlainMap, key: string, path: string[]): ConfigProblem[] => {
  const value = valueAt(map, key) ?? null;
  return value === null || isPlainMap(value) || isReference(value) ? [] : [{ path, message: "must be a map" }];
};

/** A section with a slip in its name: what it holds is missing where it belongs, and the collector refuses it. */
function judgeTopLevel(config: PlainMap): ConfigProblem[] {
  return Object.keys(config).flatMap((key) => {
    if (isSection(key)) return [];
    const near = closest(key, [...SECTIONS, "service"]);
    if (near === undefined) return [];
    const message = `${key} is no section of a collector configuration`;
    return [{ path: [key], message, hint: `did you mean ${near}?` }];
  });
}

/** Keys that the collector knows in this place; it refuses a configuration with any other. */
function judgeKeys(map: PlainMap, known: readonly string[], path: string[]): ConfigProblem[] {
  return Object.keys(map).flatMap((key) => {
    if (known.includes(key)) return [];
    const near = closest(key, known);
    const hint = near === undefined ? `only ${known.join(", ")} can stand here` : `did you mean ${near}?`;
    return [{ path: [...path, key], message: "the collector knows no such key", hint }];
  });
}

function judgeDefinitions(config: PlainMap, section: Section): ConfigProblem[] {
  const components = mapAt(config, section);
  return Object.keys(components).flatMap((key) => {
    const path = [section, key];
    const refused = judgeComponentName(String(decodeKey(key)));
    const isTwice = section === "connectors" && ["receivers", "exporters"].some((k) => key in mapAt(config, k));
    return [
      ...(refused === undefined ? [] : [{ path, ...refused }]),
      ...(isTwice ? [{ path, message: `${key} is a connector and also a receiver or exporter` }] : []),
      ...mustBeMap(components, key, path),
    ];
  });
}

function judgeService(config: PlainMap): ConfigProblem[] {
  if (isReference(config["service"])) return [];
  const service = mapAt(config, "service");
  const path = ["service", "pipelines"];
  const problems = [
    ...judgeKeys(service, ["extensions", "pipelines", "telemetry"], ["service"]),
    ...judgeList(config, service, "extensions", ["service", "extensions"], ["extensions"]),
  ];
  if (isReference(valueAt(service, "pipelines"))) return problems;
  const shape = mustBeMap(service, "pipelines", path);
  if (shape.length > 0) return [...problems, ...shape];
  const pipelines = mapAt(service, "pipelines");
  if (Object.keys(pipelines).length === 0) {
    return [...problems, { path, message: "a collector needs at least one pipeline" }];
  }
  return [
    ...problems,
    ...Object.entries(pipelines).flatMap(([name, pipeline]) => judgePipeline(config, name, pipeline)),
    ...judgeConnectors(config, pipelines),
  ];
}

function judgePipeline(config: PlainMap, name: string, pipeline: Plain): ConfigProblem[] {
  const path = ["service", "pipelines", name];
  const refused = judgePipelineName(String(decodeKey(name)));
  const problems: ConfigProblem[] = refused === undefined ? [] : [{ path, ...refused }];
  if (isReference(pipeline)) return problems;
  if (!isPlainMap(pipeline)) return [...problems, { path, message: "must be a map" }];
  problems.push(
    ...judgeKeys(
      pipeline,
      PIPELINE_LISTS.map(([list]) => list),
      path,
    ),
  );
  for (const [list, sections] of PIPELINE_LISTS) {
    const at = [...path, list];
    problems.push(...judgeList(config, pipeline, list, at, sections));
    const value = valueAt(pipeline, list) ?? [];
    if (list !== "processors" && Array.isArray(value) && value.length === 0) {
      problems.push({ path: at, message: `the pipeline ${name} has no ${list}` });
    }
  }
  const { ids } = namesOf(pipeline, "processors");
  for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index))) {
    problems.push({ path: [...path, "processors"], message: `the processor ${id} stands twice in one pipeline` });
  }
  return problems;
}

const PIPELINE_LISTS: [string, Section[]][] = [
  ["receivers", ["receivers", "connectors"]],
  ["processors", ["processors"]],
  ["exporters", ["exporters", "connectors"]],
];

/** The names of a component list. `isOpen`: the collector may put in more, or others. */
function namesOf(map: PlainMap, key: string): { ids: string[]; isOpen: boolean } {
  const value = valueAt(map, key) ?? [];
  if (!Array.isArray(value)) return { ids: [], isOpen: isReference(value) };
  const texts = value.filter((id) => typeof id === "string");
  const ids = texts.filter((id) => !id.includes("${"));
  return { ids, isOpen: ids.length < texts.length };
}

function judgeList(config: PlainMap, map: PlainMap, key: string, path: string[], sections: Section[]): ConfigProblem[] {
  const value = valueAt(map, key) ?? [];
  if (isReference(value)) return [];
  if (!Array.isArray(value)) return [{ path, message: "must be a list of component names" }];
  const { ids } = namesOf(map, key);
  const isClean = value.every((id) => typeof id === "string");
  const problems: ConfigProblem[] = isClean ? [] : [{ path, message: "must hold component names only" }];
  return [...problems, ...ids.flatMap((id) => judgeDefined(config, path, id, sections))];
}

function judgeDefined(config: PlainMap, path: string[], id: string, sections: Section[]): ConfigProblem[] {
  if (sections.some((section) => isReference(valueAt(config, section)))) return [];
  if (sections.some((section) => Object.hasOwn(mapAt(config, section), id))) return [];
  const near = closest(
    id,
    sections.flatMap((section) => Object.keys(mapAt(config, section))),
  );
  const hint = near === undefined ? NULL_HINT : `did you mean ${near}?`;
  return [{ path, message: `${id} is not defined under ${sections.join(" or ")}`, hint }];
}

/** A connector is the exporter of one pipeline and the receiver of another; used on one side only it joins nothing. */
function judgeConnectors(config: PlainMap, pipelines: PlainMap): ConfigProblem[] {
  const used = (list: string): { ids: Set<string>; isOpen: boolean } => {
    const found = Object.values(pipelines).map((pipeline) =>
      isPlainMap(pipeline) ? namesOf(pipeline, list) : { ids: [], isOpen: isReference(pipeline) },
    );
    return { ids: new Set(found.flatMap(({ ids }) => ids)), isOpen: found.some(({ isOpen }) => isOpen) };
  };
  const receivers = used("receivers");
  const exporters = used("exporters");
  return Object.keys(mapAt(config, "connectors")).flatMap((id): ConfigProblem[] => {
    const path = ["connectors", id];
    const [isReceiver, isExporter] = [receivers.ids.has(id), exporters.ids.has(id)];
    if (isReceiver && !isExporter && !exporters.isOpen)
      return [{ path, message: `the connector ${id} is a receiver but no pipeline's exporter` }];
    if (isExporter && !isReceiver && !receivers.isOpen)
      return [{ path, message: `the connector ${id} is an exporter but no pipeline's receiver` }];
    return [];
  });
}
