/** A blueprint with its ancestors: `extends` names one parent, at most 8 deep, never itself (gitops-schema, Blueprint). */
import type { Blueprint } from "./kinds.ts";
import type { Parameter } from "./kinds/blueprint.ts";
import { findObject, type Objects } from "./snapshot.ts";

export const MAX_CHAIN = 8;

export type Chain =
  /** From the root ancestor down to the blueprint itself. */
  | { ok: true; blueprints: Blueprint[] }
  | { ok: false; code: "unknown_reference" | "extends_cycle"; at: string; message: string };

/** Follows `extends` from the blueprint `name`. `at` of a refusal is the blueprint whose `extends` is at fault. */
export function chainOf(snapshot: Objects, name: string): Chain {
  const blueprints: Blueprint[] = [];
  let next: string | undefined = name;
  let at = name;
  while (next !== undefined) {
    const wanted: string = next;
    if (blueprints.some((blueprint) => blueprint.name === wanted)) {
      const circle = [...blueprints.map((blueprint) => blueprint.name).toReversed(), wanted].join(" extends ");
      return { ok: false, code: "extends_cycle", at, message: `the blueprints extend each other: ${circle}` };
    }
    if (blueprints.length === MAX_CHAIN) {
      return { ok: false, code: "extends_cycle", at, message: `the chain is longer than ${MAX_CHAIN} blueprints` };
    }
    const blueprint = findObject(snapshot, "Blueprint", wanted);
    if (blueprint === undefined) {
      return { ok: false, code: "unknown_reference", at, message: `no Blueprint is named ${wanted}` };
    }
    blueprints.unshift(blueprint);
    at = wanted;
    next = blueprint.spec.extends;
  }
  return { ok: true, blueprints };
}

/** What a chain declares; a descendant's declaration of the same name replaces its ancestor's. */
export const declarationsOf = (blueprints: readonly Blueprint[]): Map<string, Parameter> =>
  new Map(blueprints.flatMap((blueprint) => Object.entries(blueprint.spec.parameters)));
