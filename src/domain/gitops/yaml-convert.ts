/** The converter behind yaml-source.ts: one parsed document to plain data, aliases shared, every problem with its place. */
import {
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { TEMPLATE_HINT } from "./yaml-messages.ts";
import { decodeKey, encodeKey, isPlainMap, type Plain, type PlainMap } from "./plain.ts";

export type Position = { line: number; column: number };
export type Problem = Position & {
  code: "invalid_yaml" | "invalid_value" | "alias_bomb";
  path: string;
  message: string;
  hint?: string;
  /** Number of the document among those of the file; absent when the text itself is broken. */
  document?: number;
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
/** The way down to a node, its last member first: a text is made of it only for what is reported. */
type Trail = { above: Trail; member: string | number; depth: number } | undefined;
type Reader = {
  at: (offset: number) => Position;
  problems: Problem[];
  budget: { nodes: number; spent?: boolean };
  anchors: Map<string, Converted | "open">;
  /** Where the members of a container stand; containers of aliases are shared, so their places are too. */
  places: WeakMap<object, Places> | undefined;
};

/**
 * Converts a document below `root`, taking what it expands to from `budget`; `at` maps offsets to places. Places of fields
 * cost as much as the data and are seldom asked for: the first question converts once more and keeps them.
 */
export function convertDocument(
  root: Node,
  at: (offset: number) => Position,
  problems: Problem[],
  budget: Reader["budget"],
): SourceDocument {
  const granted = { ...budget };
  const { value: data } = convert({ at, problems, budget, anchors: new Map(), places: undefined }, root, undefined);
  let placed: { data: Plain; places: WeakMap<object, Places> } | undefined;
  const placeAt = (path: Path, which: "key" | "value"): Position => {
    placed ??= convertWithPlaces(root, at, granted);
    let offset = offsetOf(root);
    let container: unknown = placed.data;
    for (const member of path) {
      const place =
        typeof container === "object" && container !== null ? placed.places.get(container)?.get(member) : undefined;
      if (place === undefined) break;
      offset = place[which];
      container = memberOf(container, member);
    }
    return at(offset);
  };
  const keyAt = (path: Path): Position => placeAt(path, "key");
  return { data, ...at(offsetOf(root)), keyAt, valueAt: (path) => placeAt(path, "value") };
}

function convertWithPlaces(
  root: Node,
  at: Reader["at"],
  budget: Reader["budget"],
): { data: Plain; places: WeakMap<object, Places> } {
  const places = new WeakMap<object, Places>();
  const { value: data } = convert(
    { at, problems: [], budget: { ...budget }, anchors: new Map(), places },
    root,
    undefined,
  );
  return { data, places };
}

const memberOf = (container: unknown, member: string | number): unknown =>
  typeof container === "object" && container !== null && Object.hasOwn(container, member)
    ? (container as Record<string | number, unknown>)[member]
    : undefined;

const offsetOf = (node: unknown): number => (node as Node | null)?.range?.[0] ?? 0;

const below = (above: Trail, member: string | number): Trail => ({ above, member, depth: (above?.depth ?? 0) + 1 });

function pathOf(trail: Trail): (string | number)[] {
  const path: (string | number)[] = [];
  for (let at = trail; at !== undefined; at = at.above) path.push(at.member);
  return path.toReversed();
}

/** Converts one node. Aliased data is converted once and shared: what is bounded is its expanded size. */
function convert(reader: Reader, node: unknown, trail: Trail): Converted {
  if (trail !== undefined && trail.depth > MAX_DEPTH) {
    const path = pathText(pathOf(trail).slice(0, 10));
    reader.problems.push({ ...tooDeep(reader.at(offsetOf(node))), path });
    return { value: null, nodes: 1 };
  }
  if (isAlias(node)) return spend(reader, node, trail, resolveAlias(reader, node.source, node, trail));
  const anchor = isMap(node) || isSeq(node) || isScalar(node) ? node.anchor : undefined;
  if (anchor !== undefined) reader.anchors.set(anchor, "open");
  const converted = isMap(node)
    ? convertMap(reader, node, trail)
    : isSeq(node)
      ? convertList(reader, node, trail)
      : isScalar(node)
        ? spend(reader, node, trail, { value: convertScalar(reader, node, trail), nodes: 1 })
        : { value: null, nodes: 1 };
  if (anchor !== undefined) reader.anchors.set(anchor, converted);
  return converted;
}

function refuse(reader: Reader, trail: Trail, problem: Problem): Converted {
  reader.problems.push({ ...problem, path: pathText(pathOf(trail)) });
  return { value: null, nodes: 1 };
}

/** Counts what `converted` adds to the file. Beyond the budget everything becomes null, and one issue says why. */
function spend(reader: Reader, node: unknown, trail: Trail, converted: Converted): Converted {
  const { budget } = reader;
  if (budget.nodes >= converted.nodes) {
    budget.nodes -= converted.nodes;
    return converted;
  }
  if (budget.spent === true) return { value: null, nodes: 1 };
  budget.spent = true;
  budget.nodes = 0;
  const message = `expands to more than ${MAX_NODES} nodes`;
  return refuse(reader, trail, { code: "alias_bomb", ...reader.at(offsetOf(node)), path: "", message });
}

/** A container itself, before its members. */
const spendOne = (reader: Reader, node: unknown, trail: Trail): number =>
  spend(reader, node, trail, { value: null, nodes: 1 }).nodes;

function resolveAlias(reader: Reader, name: string, node: unknown, trail: Trail): Converted {
  const target = reader.anchors.get(name);
  if (target !== undefined && target !== "open") return target;
  const message =
    target === "open" ? `*${name} contains itself` : `no anchor &${name} stands before this alias in the same document`;
  const hint = target === "open" ? {} : { hint: `put text that begins with * in quotes: "*${name}"` };
  return refuse(reader, trail, { ...broken(reader.at(offsetOf(node)), message), ...hint });
}

function convertList(reader: Reader, list: YAMLSeq, trail: Trail): Converted {
  let nodes = spendOne(reader, list, trail);
  const value = list.items.map((item, index) => {
    if (isPair(item)) return null;
    const member = convert(reader, item, below(trail, index));
    nodes += member.nodes;
    return member.value;
  });
  const placeOf = (item: unknown): { key: number; value: number } => ({ key: offsetOf(item), value: offsetOf(item) });
  reader.places?.set(value, new Map(list.items.map((item, index) => [index, placeOf(item)])));
  return { value, nodes };
}

type Member = { value: Plain; place: { key: number; value: number } };

function convertMap(reader: Reader, map: YAMLMap, trail: Trail): Converted {
  const value: PlainMap = {};
  const own = new Map<string, number>();
  const merged = new Map<string, Member>();
  const places: Places | undefined = reader.places === undefined ? undefined : new Map();
  let nodes = spendOne(reader, map, trail);
  for (const pair of map.items) {
    if (isMergeKey(pair)) {
      nodes += mergeInto(reader, merged, pair, trail);
      continue;
    }
    const key = convertKey(reader, pair.key, trail);
    if (key === undefined) continue;
    const member = convert(reader, pair.value, below(trail, key));
    nodes += member.nodes + 1;
    const first = own.get(key);
    if (first !== undefined) {
      refuseTwice(reader, first, pair, below(trail, key));
      continue;
    }
    const at = offsetOf(pair.key);
    own.set(key, at);
    setMember(value, key, member.value);
    places?.set(key, { key: at, value: pair.value === null ? at : offsetOf(pair.value) });
  }
  for (const [key, member] of merged) {
    if (own.has(key)) continue;
    setMember(value, key, member.value);
    places?.set(key, member.place);
  }
  if (places !== undefined) reader.places?.set(value, places);
  return { value, nodes };
}

function refuseTwice(reader: Reader, first: number, pair: Pair, trail: Trail): void {
  const [key = ""] = pathOf(trail).slice(-1);
  const message = `the key ${keyText(String(key))} stands here and in line ${reader.at(first).line}`;
  refuse(reader, trail, { ...broken(reader.at(offsetOf(pair.key)), message), hint: "keep one of the two" });
}

/** By definition where assignment would do something else: `__proto__` is an ordinary key here (decisions, YAML). */
function setMember(map: PlainMap, key: string, value: Plain): void {
  if (key !== "__proto__") map[key] = value;
  else Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Built by definition, not by assignment, as `setMember`. */
export const mapOf = (entries: readonly (readonly [string, Plain])[]): PlainMap => Object.fromEntries(entries);

const isMergeKey = (pair: Pair): boolean =>
  isScalar(pair.key) && pair.key.source === "<<" && pair.key.type === "PLAIN" && pair.key.tag === undefined;

/** Adds what `<<` names to `merged`, unless an earlier merge has it. Returns the nodes that this adds. */
function mergeInto(reader: Reader, merged: Map<string, Member>, pair: Pair, above: Trail): number {
  const before = reader.problems.length;
  const trail = below(above, "<<");
  const { value, nodes } = convert(reader, pair.value, trail);
  // what could not be read has been reported, or the whole file is refused for its size
  if (reader.problems.length > before || reader.budget.spent === true) return nodes;
  const sources = Array.isArray(value) ? value : [value];
  const at = offsetOf(pair.key);
  for (const source of sources) {
    if (!isPlainMap(source)) {
      const hint = "name an anchor: `<<: *defaults`";
      refuse(reader, trail, { ...broken(reader.at(at), "<< takes a map or a list of maps"), hint });
      continue;
    }
    const places = reader.places?.get(source);
    for (const [key, member] of Object.entries(source)) {
      if (!merged.has(key)) merged.set(key, { value: member, place: places?.get(key) ?? { key: at, value: at } });
    }
  }
  return nodes;
}

/** The encoded key, or undefined when it is not a scalar: collectors know no other keys. */
function convertKey(reader: Reader, node: unknown, trail: Trail): string | undefined {
  const { value } = convert(reader, node, below(trail, "?"));
  if (value !== null && typeof value === "object") {
    const message = `a key must be a text or number, not a ${Array.isArray(value) ? "list" : "map"}`;
    const hint = Array.isArray(value) ? {} : { hint: TEMPLATE_HINT };
    refuse(reader, trail, { ...broken(reader.at(offsetOf(node)), message), ...hint });
    return undefined;
  }
  return encodeKey(value);
}

function convertScalar(reader: Reader, node: Scalar, trail: Trail): Plain {
  const refuseValue = (message: string, hint: string): null => {
    const at = reader.at(offsetOf(node));
    reader.problems.push({ code: "invalid_value", ...at, path: pathText(pathOf(trail)), message, hint });
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
