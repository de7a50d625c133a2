/**
 * A collector configuration before it is rendered: data whose string scalars may be templates, and the rules by which
 * layers merge (gitops-schema, "Merge order"). Maps merge deep, lists replace; `null` removes a key that an earlier layer
 * has set and is a value where there is nothing to remove (`cpu:` below `scrapers:`). Fragments append to the component
 * lists under `service`.
 */
import { isPlainMap, samePlain, type Plain, type PlainMap } from "../gitops/plain.ts";
import { mapOf, type Path } from "../gitops/yaml-convert.ts";
import { compileTemplate, hasTemplate, TemplateError, type Compiled } from "./template.ts";

export type Origin = { blueprint: string; path: Path };
/** A string scalar with a template in it. One that does not compile says so when it is rendered. */
export class Leaf {
  readonly text: string;
  readonly origin: Origin;
  readonly compiled: Compiled | undefined;
  readonly error: string | undefined;
  constructor(text: string, origin: Origin, compiled: Compiled | undefined, error?: string) {
    this.text = text;
    this.origin = origin;
    this.compiled = compiled;
    this.error = error;
  }
}
/** A component list that fragments appended to: its parts follow each other, duplicates are left out. */
class Appended {
  readonly parts: readonly Tree[];
  constructor(parts: readonly Tree[]) {
    this.parts = parts;
  }
}
export type Tree = null | boolean | number | string | Leaf | Appended | Tree[] | TreeMap;
export type TreeMap = { [key: string]: Tree };

const isTreeMap = (tree: Tree | undefined): tree is TreeMap =>
  isPlainMap(tree) && !(tree instanceof Leaf) && !(tree instanceof Appended);
const treeMapOf = (entries: readonly (readonly [string, Tree])[]): TreeMap => Object.fromEntries(entries);

/** Compiles the templates of one layer. Never throws: what does not compile is a leaf with an error. */
export function treeOf(value: Plain, origin: Origin): Tree {
  if (typeof value === "string") return hasTemplate(value) ? leafOf(value, origin) : value;
  const below = (member: string | number): Origin => ({ ...origin, path: [...origin.path, member] });
  if (Array.isArray(value)) return value.map((item, index) => treeOf(item, below(index)));
  if (!isPlainMap(value)) return value;
  return treeMapOf(Object.entries(value).map(([key, member]) => [key, treeOf(member, below(key))]));
}

function leafOf(text: string, origin: Origin): Leaf {
  try {
    return new Leaf(text, origin, compileTemplate(text));
  } catch (error) {
    if (error instanceof TemplateError) return new Leaf(text, origin, undefined, error.message);
    throw error;
  }
}

/** Every template of a tree. */
export function leavesOf(tree: Tree): Leaf[] {
  if (tree instanceof Leaf) return [tree];
  if (tree instanceof Appended) return tree.parts.flatMap(leavesOf);
  if (Array.isArray(tree)) return tree.flatMap(leavesOf);
  return isTreeMap(tree) ? Object.values(tree).flatMap(leavesOf) : [];
}

/** Lays `over` onto `base`. `appends` is true for a fragment. */
export function mergeTrees(base: TreeMap, over: TreeMap, appends: boolean, path: readonly string[] = []): TreeMap {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const before = merged.get(key);
    if (value === null && before !== undefined) merged.delete(key);
    else if (isTreeMap(before) && isTreeMap(value)) merged.set(key, mergeTrees(before, value, appends, [...path, key]));
    else if (
      before !== undefined &&
      appends &&
      isComponentList([...path, key]) &&
      isListLike(before) &&
      isListLike(value)
    )
      merged.set(key, new Appended([...(before instanceof Appended ? before.parts : [before]), value]));
    else merged.set(key, value);
  }
  return treeMapOf([...merged]);
}

const isListLike = (tree: Tree): boolean => Array.isArray(tree) || tree instanceof Leaf || tree instanceof Appended;

const isComponentList = (path: readonly string[]): boolean =>
  (path.length === 2 && path[0] === "service" && path[1] === "extensions") ||
  (path.length === 4 && path[0] === "service" && path[1] === "pipelines" && PIPELINE_LISTS.has(path[3] ?? ""));
const PIPELINE_LISTS = new Set(["receivers", "processors", "exporters"]);

export type RenderLeaf = (leaf: Leaf) => Plain;

/** The data of a tree, each template rendered by `render`. */
export function renderTree(tree: Tree, render: RenderLeaf): Plain {
  if (tree instanceof Leaf) return render(tree);
  if (tree instanceof Appended) return withoutDuplicates(tree.parts.flatMap((part) => renderTree(part, render)));
  if (Array.isArray(tree)) return tree.map((item) => renderTree(item, render));
  if (!isTreeMap(tree)) return tree;
  return renderMap(tree, render);
}

const renderMap = (tree: TreeMap, render: RenderLeaf): PlainMap =>
  mapOf(Object.entries(tree).map(([key, value]) => [key, renderTree(value, render)]));

const withoutDuplicates = (items: readonly Plain[]): Plain[] =>
  items.filter((item, index) => items.findIndex((other) => samePlain(other, item)) === index);
