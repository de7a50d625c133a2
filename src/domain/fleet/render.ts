/** The configuration that a fleet gives to one agent: same inputs, same bytes, on every replica. */
import type { Fleet } from "../gitops/kinds.ts";
import type { Plain, PlainMap } from "../gitops/plain.ts";
import type { Objects } from "../gitops/snapshot.ts";
import { pathText } from "../gitops/yaml-convert.ts";
import type { FleetAgent } from "./agent.ts";
import { identifier, type Identity } from "./assign.ts";
import { recipeOf, type Condition, type Recipe } from "./blueprint.ts";
import { judgeCollectorConfig } from "./collector-config.ts";
import { componentsOf, type Component } from "./components.ts";
import { renderTree, type Leaf, type Origin } from "./config-tree.ts";
import { emitYaml } from "./emit-yaml.ts";
import { dataOf, parametersFor, readKey, scopeFor } from "./scope.ts";
import { TemplateError } from "./template.ts";

export type RenderCode =
  | "unknown_reference"
  | "template_error"
  | "invalid_config"
  | "missing_parameter"
  | "invalid_value";
export type RenderProblem = {
  code: RenderCode;
  message: string;
  hint?: string;
  /** The parameter at fault, of missing_parameter and invalid_value. */
  parameter?: string;
  /** Where in a blueprint, as far as one place is at fault. */
  origin?: Origin;
  /** Whether the key or the value there is at fault; absent: the value. */
  at?: "key";
};
export type Rendered =
  | { ok: true; bytes: Uint8Array; hash: Uint8Array }
  | { ok: false; code: RenderCode; message: string };

/**
 * Renders for `agent` at `version` (without `v`; empty when unknown). Never throws on what a repository can say, and never
 * returns an empty map. `identity` is needed when several agents claim one host name: `identifier(snapshot, agents)(agent)`.
 */
export function renderConfig(
  snapshot: Objects,
  fleet: Fleet,
  agent: FleetAgent,
  version: string,
  hash: (bytes: Uint8Array) => Uint8Array,
  identity: Identity = identifier(snapshot, [agent])(agent),
): Rendered {
  const outcome = renderText(snapshot, fleet, agent, version, identity);
  if ("text" in outcome) {
    const bytes = new TextEncoder().encode(outcome.text);
    return { ok: true, bytes, hash: hash(bytes) };
  }
  const [first] = outcome.problems;
  if (first === undefined) throw new TypeError("a refused configuration names no problem");
  const more = outcome.problems.length > 1 ? ` (and ${outcome.problems.length - 1} more)` : "";
  return { ok: false, code: first.code, message: first.message + more };
}

/** With the components that the configuration defines, for checks against a list of what collectors have. */
export type RenderedText = { text: string; components: readonly Component[] } | { problems: RenderProblem[] };

/** As `renderConfig`, with every problem and its place. */
export function renderText(
  snapshot: Objects,
  fleet: Fleet,
  agent: FleetAgent,
  version: string,
  identity: Identity,
): RenderedText {
  const recipe = recipeOf(snapshot, fleet.spec.blueprint);
  if (recipe === undefined) {
    return {
      problems: [{ code: "unknown_reference", message: `the blueprint ${fleet.spec.blueprint} is not usable` }],
    };
  }
  const { values, problems } = parametersFor(recipe.declarations, fleet, identity);
  if (problems.length > 0) {
    return { problems: problems.map(({ code, name, message }) => ({ code, message, parameter: name })) };
  }
  const scope = scopeFor(fleet, values, agent, identity, version);
  const refused: RenderProblem[] = [];
  const applies = recipe.fragments.map(({ when }) => when === undefined || holds(when, scope, refused));
  return refused.length > 0 ? { problems: refused } : renderOnce(recipe, scope, applies);
}

function holds(when: Condition, scope: object, problems: RenderProblem[]): boolean {
  try {
    return when.holds?.(scope) ?? refuseTemplate(when.origin, when.error ?? "does not compile", problems);
  } catch (error) {
    if (error instanceof TemplateError) return refuseTemplate(when.origin, error.message, problems);
    throw error;
  }
}

function refuseTemplate(origin: Origin, message: string, problems: RenderProblem[]): false {
  const where = pathText(origin.path.slice(1));
  problems.push({ code: "template_error", message: `${where}: ${message}`, origin });
  return false;
}

/** Fleets are many agents that read the same few values: each distinct set of them is rendered once. */
const rendered = new WeakMap<Recipe, Map<string, RenderedText>>();
const MAX_KEPT = 2_000;

function renderOnce(recipe: Recipe, scope: Record<string, unknown>, applies: readonly boolean[]): RenderedText {
  const { tree, reads } = recipe.merged(applies);
  const key = `${applies.map(Number).join("")}\n${readKey(scope, reads)}`;
  const kept = rendered.get(recipe) ?? new Map<string, RenderedText>();
  rendered.set(recipe, kept);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const problems: RenderProblem[] = [];
  const size = createMeasure();
  const config = renderTree(tree, (leaf) => {
    if (size.isSpent()) return null;
    const value = renderLeaf(leaf, scope, problems);
    size.add(value);
    if (size.isSpent()) refuseTemplate(leaf.origin, `with this ${TOO_LARGE}`, problems);
    return value;
  });
  const outcome = problems.length > 0 ? { problems } : finish(recipe, config);
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(key, outcome);
  return outcome;
}

/**
 * What templates and aliases multiply (a list of the inventory in each of a thousand scalars) is bounded as what authors
 * write. A node counts as the characters that it takes at least.
 */
const MAX_SIZE = 4 * 1024 * 1024;
const NODE_SIZE = 8;
const TOO_LARGE = "the configuration is larger than 4 MiB";

/** Counts characters and nodes, and stops when they are too many: data is shared, so it can be larger than memory. */
function createMeasure(): { add: (value: Plain) => void; isSpent: () => boolean } {
  let left = MAX_SIZE;
  const add = (value: Plain): void => {
    left -= typeof value === "string" ? value.length + NODE_SIZE : NODE_SIZE;
    if (typeof value !== "object" || value === null) return;
    for (const [key, member] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
      if (left <= 0) return;
      if (typeof key === "string") left -= key.length;
      add(member);
    }
  };
  return { add, isSpent: () => left <= 0 };
}

function renderLeaf(leaf: Leaf, scope: object, problems: RenderProblem[]): Plain {
  try {
    if (leaf.compiled !== undefined) return dataOf(leaf.compiled.render(scope));
    return refuseTemplate(leaf.origin, leaf.error ?? "does not compile", problems);
  } catch (error) {
    if (error instanceof TemplateError) return refuseTemplate(leaf.origin, error.message, problems);
    throw error;
  }
}

function finish(recipe: Recipe, config: Plain): RenderedText {
  const blueprint = recipe.blueprints.at(-1)?.name ?? "";
  const origin: Origin = { blueprint, path: ["spec", "config"] };
  const size = createMeasure();
  size.add(config);
  if (size.isSpent()) return { problems: [{ code: "invalid_config", message: TOO_LARGE, origin }] };
  const problems = judgeCollectorConfig(config).map(({ path, message, hint }): RenderProblem => ({
    code: "invalid_config",
    message: path.length === 0 ? message : `${pathText(path)}: ${message}`,
    ...(hint === undefined ? {} : { hint }),
    origin: { ...origin, path: [...origin.path, ...path] },
  }));
  if (problems.length > 0) return { problems };
  const text = emitYaml(config as PlainMap);
  if (text !== undefined) return { text, components: componentsOf(config) };
  const message = "cannot be written so that YAML 1.1 and 1.2 readers see the same";
  return { problems: [{ code: "invalid_config", message, origin }] };
}
