/** The converter behind yaml-source.ts: one parsed document to plain data, aliases shared, every problem with its place. */
import { isAlias, isMap, isPair, isScalar, isSeq, type Node, type Pair, type Scalar, type YAMLMap } from "yaml";
import { TEMPLATE_HINT } from "./yaml-messages.ts";
import { decodeKey, encodeKey, isPlainMap, type Plain, type PlainMap } from "./plain.ts";

export type Position = { line: number; column: number };
export type Problem = Position & {
  code: "invalid_yaml" | "invalid_value" | "alias_bomb";
  path: string;
  message: string;
  hint?: string;
};
export type Path = readonly (string | number)[];
/** Where a document and its fields stand. */
export type Place = {
  line: number;
  column: number;
  /** Where the key (or list item) at `path` stands; of the nearest ancestor when it is absent. */
  keyAt: (path: Path) => Position;
  /** Where the value at `path` stands. */
  valueAt: (path: Path) => Position;
};
export type SourceDocument = Place & { data: Plain };

/** Nodes of one file after aliases and merges are expanded (decisions, YAML). */
export const MAX_NODES = 1_000_000;
const MAX_DEPTH = 128;

export const broken = (at: Position, message: string, path = ""): Problem => ({
  code: "invalid_yaml",
  ...at,
  path,
  message,
});
export const tooDeep = (at: Position): Problem => broken(at, `nested deeper than ${MAX_DEPTH} levels`);

type Converted = { value: Plain; nodes: number };
type Places = Map<string | number, { key: number; value: number }>;
type Reader = {
  at: (offset: number) => Position;
  problems: Problem[];
  budget: { nodes: number; spent?: boolean };
  anchors: Map<string, Converted | "open">;
  /** Where the members of a container stand; containers of aliases are shared, so their places are too. */
  places: WeakMap<object, Places>;
};

/** Converts a document below `root`, taking what it expands to from `budget`; `at` maps offsets to places. */
export function convertDocument(
  root: Node,
  at: (offset: number) => Position,
  problems: Problem[],
  budget: Reader["budget"],
): SourceDocument {
  const reader: Reader = { at, problems, budget, anchors: new Map(), places: new WeakMap() };
  const { value: data } = convert(reader, root, []);
  const start = at(offsetOf(root));
  const placeAt = (path: Path, which: "key" | "value"): Position => {
    let offset = offsetOf(root);
    let container: unknown = data;
    for (const member of path) {
      const place =
        typeof container === "object" && container !== null ? reader.places.get(container)?.get(member) : undefined;
      if (place === undefined) break;
      offset = place[which];
      container = memberOf(container, member);
    }
    return at(offset);
  };
  return { data, ...start, keyAt: (path) => placeAt(path, "key"), valueAt: (path) => placeAt(path, "value") };
}

const memberOf = (container: unknown, member: string | number): unknown =>
  typeof container === "object" && container !== null && Object.hasOwn(container, member)
    ? (container as Record<string | number, unknown>)[member]
    : undefined;

const offsetOf = (node: unknown): number => (node as Node | null)?.range?.[0] ?? 0;

/** Converts one node. Aliased data is converted once and shared: what is bounded is its expanded size. */
function convert(reader: Reader, node: unknown, path: Path): Converted {
  if (path.length > MAX_DEPTH) return refuse(reader, node, path.slice(0, 10), tooDeep(reader.at(offsetOf(node))));
  if (isAlias(node)) return spend(reader, node, path, resolveAlias(reader, node.source, node, path));
  const anchor = isMap(node) || isSeq(node) || isScalar(node) ? node.anchor : undefined;
  if (anchor !== undefined) reader.anchors.set(anchor, "open");
  const converted = isMap(node)
    ? convertMap(reader, node, path)
    : isSeq(node)
      ? convertList(reader, node.items, offsetOf(node), path)
      : isScalar(node)
        ? spend(reader, node, path, { value: convertScalar(reader, node, path), nodes: 1 })
        : { value: null, nodes: 1 };
  if (anchor !== undefined) reader.anchors.set(anchor, converted);
  return converted;
}

function refuse(reader: Reader, node: unknown, path: Path, problem: Problem): Converted {
  reader.problems.push({ ...problem, path: pathText(path) });
  return { value: null, nodes: 1 };
}

/** Counts what `converted` adds to the file. Beyond the budget everything becomes null, and one issue says why. */
function spend(reader: Reader, node: unknown, path: Path, converted: Converted): Converted {
  const { budget } = reader;
  if (budget.nodes >= converted.nodes) {
    budget.nodes -= converted.nodes;
    return converted;
  }
  if (budget.spent === true) return { value: null, nodes: 1 };
  budget.spent = true;
  budget.nodes = 0;
  const message = `expands to more than ${MAX_NODES} nodes`;
  return refuse(reader, node, path, { code: "alias_bomb", ...reader.at(offsetOf(node)), path: "", message });
}

function resolveAlias(reader: Reader, name: string, node: unknown, path: Path): Converted {
  const target = reader.anchors.get(name);
  if (target !== undefined && target !== "open") return target;
  const message =
    target === "open" ? `*${name} contains itself` : `no anchor &${name} stands before this alias in the same document`;
  const hint = target === "open" ? {} : { hint: `put text that begins with * in quotes: "*${name}"` };
  return refuse(reader, node, path, { ...broken(reader.at(offsetOf(node)), message), ...hint });
}

function convertList(reader: Reader, items: readonly unknown[], offset: number, path: Path): Converted {
  const places: Places = new Map();
  let nodes = spend(reader, { range: [offset] }, path, { value: null, nodes: 1 }).nodes;
  const value = items.map((item, index) => {
    const member = isPair(item) ? { value: null, nodes: 1 } : convert(reader, item, [...path, index]);
    nodes += member.nodes;
    places.set(index, { key: offsetOf(item), value: offsetOf(item) });
    return member.value;
  });
  reader.places.set(value, places);
  return { value, nodes };
}

type Member = { value: Plain; key: number; at: number };

function convertMap(reader: Reader, map: YAMLMap, path: Path): Converted {
  const own = new Map<string, Member>();
  const merged = new Map<string, Member>();
  let nodes = spend(reader, map, path, { value: null, nodes: 1 }).nodes;
  for (const pair of map.items) {
    if (isMergeKey(pair)) {
      nodes += mergeInto(reader, merged, pair, path);
      continue;
    }
    const key = convertKey(reader, pair.key, path);
    if (key === undefined) continue;
    const member = convert(reader, pair.value, [...path, key]);
    nodes += member.nodes + 1;
    const first = own.get(key);
    if (first === undefined) {
      own.set(key, {
        value: member.value,
        key: offsetOf(pair.key),
        at: pair.value === null ? offsetOf(pair.key) : offsetOf(pair.value),
      });
    } else {
      const { line } = reader.at(first.key);
      const message = `the key ${keyText(key)} stands here and in line ${line}`;
      const hint = "keep one of the two";
      reader.problems.push({ ...broken(reader.at(offsetOf(pair.key)), message, pathText([...path, key])), hint });
    }
  }
  const members = new Map([...own, ...[...merged].filter(([key]) => !own.has(key))]);
  const value = mapOf([...members].map(([key, member]) => [key, member.value]));
  reader.places.set(
    value,
    new Map([...members].map(([key, { key: at, at: valueAt }]) => [key, { key: at, value: valueAt }])),
  );
  return { value, nodes };
}

/** Built by definition, not by assignment: `__proto__` is an ordinary key here (decisions, YAML). */
export const mapOf = (entries: readonly (readonly [string, Plain])[]): PlainMap => Object.fromEntries(entries);

const isMergeKey = (pair: Pair): boolean =>
  isScalar(pair.key) && pair.key.type === "PLAIN" && pair.key.source === "<<" && pair.key.tag === undefined;

/** Adds what `<<` names to `merged`, unless an earlier merge has it. Returns the nodes that this adds. */
function mergeInto(reader: Reader, merged: Map<string, Member>, pair: Pair, path: Path): number {
  const before = reader.problems.length;
  const { value, nodes } = convert(reader, pair.value, [...path, "<<"]);
  // what could not be read has been reported, or the whole file is refused for its size
  if (reader.problems.length > before || reader.budget.spent === true) return nodes;
  const sources = Array.isArray(value) ? value : [value];
  for (const source of sources) {
    if (!isPlainMap(source)) {
      const message = "<< takes a map or a list of maps";
      const hint = "name an anchor: `<<: *defaults`";
      reader.problems.push({ ...broken(reader.at(offsetOf(pair.key)), message, pathText([...path, "<<"])), hint });
      continue;
    }
    const places = reader.places.get(source);
    for (const [key, member] of Object.entries(source)) {
      const place = places?.get(key);
      if (!merged.has(key)) {
        merged.set(key, {
          value: member,
          key: place?.key ?? offsetOf(pair.key),
          at: place?.value ?? offsetOf(pair.key),
        });
      }
    }
  }
  return nodes;
}

/** The encoded key, or undefined when it is not a scalar: collectors know no other keys. */
function convertKey(reader: Reader, node: unknown, path: Path): string | undefined {
  const { value } = convert(reader, node, [...path, "?"]);
  if (value !== null && typeof value === "object") {
    const message = `a key must be a text or number, not a ${Array.isArray(value) ? "list" : "map"}`;
    const hint = Array.isArray(value) ? {} : { hint: TEMPLATE_HINT };
    reader.problems.push({ ...broken(reader.at(offsetOf(node)), message, pathText(path)), ...hint });
    return undefined;
  }
  return encodeKey(value);
}

function convertScalar(reader: Reader, node: Scalar, path: Path): Plain {
  const refuseValue = (message: string, hint: string): null => {
    const at = reader.at(offsetOf(node));
    reader.problems.push({ code: "invalid_value", ...at, path: pathText(path), message, hint });
    return null;
  };
  const { value } = node;
  if (typeof value === "bigint") {
    if (value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
    return refuseValue(`${value} is larger than 2^53 and would lose digits`, `quote it: "${value}"`);
  }
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value === 0 ? 0 : value;
    return refuseValue(`${node.source ?? value} is not a finite number`, `quote it: "${node.source ?? value}"`);
  }
  if (typeof value === "string") {
    if (!value.includes("\0") && value.isWellFormed()) return value;
    return refuseValue("text may not hold NUL or half a surrogate pair", "write it without that character");
  }
  return value === true || value === false ? value : null;
}

const keyText = (key: string): string => String(decodeKey(key));

/** A path as people read it: `spec.fragments[0].config.receivers`. */
export const pathText = (path: Path): string =>
  path
    .map((member) => (typeof member === "number" ? `[${member}]` : `.${keyText(member)}`))
    .join("")
    .replace(/^\./, "");
