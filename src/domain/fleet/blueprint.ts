/** Blueprints compiled for rendering: layers in merge order, which fragments apply, what the templates read. */
import { chainOf, declarationsOf } from "../gitops/chain.ts";
import type { Blueprint } from "../gitops/kinds.ts";
import type { Parameter } from "../gitops/kinds/blueprint.ts";
import type { Objects } from "../gitops/snapshot.ts";
import { leavesOf, mergeTrees, treeOf, type Leaf, type Origin, type Tree, type TreeMap } from "./config-tree.ts";
import { compileCondition, TemplateError, type Compiled } from "./template.ts";

export type Condition = {
  origin: Origin;
  holds: ((scope: object) => boolean) | undefined;
  reads: Compiled["reads"];
  error: string | undefined;
};
export type Fragment = { config: TreeMap; when: Condition | undefined };
export type Layers = { config: TreeMap; fragments: Fragment[] };
export type Recipe = {
  declarations: Map<string, Parameter>;
  blueprints: Blueprint[];
  fragments: Fragment[];
  /** The merged configuration with the fragments whose bit is set, and every variable path that it reads. */
  merged(applies: readonly boolean[]): { tree: TreeMap; reads: readonly (readonly string[])[] };
};

const compiledBlueprints = new WeakMap<Blueprint, Layers>();

/** The layers of one blueprint, compiled once per object. */
export function layersOf(blueprint: Blueprint): Layers {
  const known = compiledBlueprints.get(blueprint);
  if (known !== undefined) return known;
  const origin = (...path: (string | number)[]): Origin => ({ blueprint: blueprint.name, path: ["spec", ...path] });
  const layers: Layers = {
    config: treeOf(blueprint.spec.config, origin("config")) as TreeMap,
    fragments: blueprint.spec.fragments.map((fragment, index) => ({
      config: treeOf(fragment.config, origin("fragments", index, "config")) as TreeMap,
      when: fragment.when === undefined ? undefined : conditionOf(fragment.when, origin("fragments", index, "when")),
    })),
  };
  compiledBlueprints.set(blueprint, layers);
  return layers;
}

function conditionOf(text: string, origin: Origin): Condition {
  try {
    const { holds, reads } = compileCondition(text);
    return { origin, holds, reads, error: undefined };
  } catch (error) {
    if (error instanceof TemplateError) return { origin, holds: undefined, reads: [], error: error.message };
    throw error;
  }
}

/** Every template of a blueprint, with what each reads: for checks that need no agent. */
export function templatesOf(blueprint: Blueprint): (Leaf | Condition)[] {
  const { config, fragments } = layersOf(blueprint);
  return [
    ...leavesOf(config),
    ...fragments.flatMap(({ when, config }) => [...(when === undefined ? [] : [when]), ...leavesOf(config)]),
  ];
}

const recipes = new WeakMap<Objects["objects"], Map<string, Recipe | undefined>>();

/** How the blueprint `name` renders; undefined when its chain does not hold (validation has said so). */
export function recipeOf(snapshot: Objects, name: string): Recipe | undefined {
  const known = recipes.get(snapshot.objects) ?? new Map<string, Recipe | undefined>();
  recipes.set(snapshot.objects, known);
  if (!known.has(name)) known.set(name, createRecipe(snapshot, name));
  return known.get(name);
}

/** Of each blueprint's last chain: a revision that leaves a chain as it was renders it from what is compiled and kept. */
const recipesByBlueprint = new WeakMap<Blueprint, Recipe>();

function createRecipe(snapshot: Objects, name: string): Recipe | undefined {
  const chain = chainOf(snapshot, name);
  const own = chain.ok ? chain.blueprints.at(-1) : undefined;
  if (!chain.ok || own === undefined) return undefined;
  const known = recipesByBlueprint.get(own);
  const isSame =
    known?.blueprints.length === chain.blueprints.length &&
    known.blueprints.every((blueprint, k) => blueprint === chain.blueprints[k]);
  const recipe = known !== undefined && isSame ? known : compileChain(chain.blueprints);
  recipesByBlueprint.set(own, recipe);
  return recipe;
}

function compileChain(blueprints: Blueprint[]): Recipe {
  const layers = blueprints.map(layersOf);
  const fragments = layers.flatMap((layer) => layer.fragments);
  const base = layers.reduce<TreeMap>(
    (below, { config }, k) => (k === 0 ? config : mergeTrees(below, config, false)),
    {},
  );
  const variants = new Map<string, { tree: TreeMap; reads: Compiled["reads"] }>();
  const merge = (applies: readonly boolean[]): { tree: TreeMap; reads: Compiled["reads"] } => {
    const chosen = fragments.filter((_, index) => applies[index] === true);
    const tree = chosen.reduce<TreeMap>((below, { config }) => mergeTrees(below, config, true), base);
    return { tree, reads: readsOf(tree) };
  };
  return {
    declarations: declarationsOf(blueprints),
    blueprints,
    fragments,
    merged: (applies) => {
      const key = applies.map(Number).join("");
      const variant = variants.get(key) ?? merge(applies);
      variants.set(key, variant);
      return variant;
    },
  };
}

function readsOf(tree: Tree): string[][] {
  const paths = new Map<string, string[]>();
  for (const leaf of leavesOf(tree)) {
    for (const path of leaf.compiled?.reads ?? []) paths.set(JSON.stringify(path), [...path]);
  }
  return [...paths.values()];
}
