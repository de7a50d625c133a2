/** A blueprint with its ancestors: `extends` names one parent, at most 8 deep, never itself (gitops-schema, Blueprint). */
import type { Blueprint } from "./kinds.ts";
import type { Parameter } from "./kinds/blueprint.ts";
import { findObject, type Objects } from "./snapshot.ts";

export const MAX_CHAIN = 8;

export type Chain =
  /** From the root ancestor down to the blueprint itself. */
  | { ok: true; blueprints: Blueprint[] }
  | { ok: false; because: "missing" }
  /** `members` extend each other, each the next one; the blueprint itself may only lead there. */
  | { ok: false; because: "circle"; members: string[] }
  | { ok: false; because: "length" };

/** Follows `extends` from the blueprint `name`. */
export function chainOf(snapshot: Objects, name: string): Chain {
  const blueprints: Blueprint[] = [];
  let next: string | undefined = name;
  while (next !== undefined) {
    const wanted: string = next;
    const again = blueprints.findIndex((blueprint) => blueprint.name === wanted);
    if (again !== -1) {
      const circle = blueprints.slice(0, again + 1).map((blueprint) => blueprint.name);
      return { ok: false, because: "circle", members: circle.toReversed() };
    }
    if (blueprints.length === MAX_CHAIN) return { ok: false, because: "length" };
    const blueprint = findObject(snapshot, "Blueprint", wanted);
    if (blueprint === undefined) return { ok: false, because: "missing" };
    blueprints.unshift(blueprint);
    next = blueprint.spec.extends;
  }
  return { ok: true, blueprints };
}

/** What a chain declares; a descendant's declaration of the same name replaces its ancestor's. */
export const declarationsOf = (blueprints: readonly Blueprint[]): Map<string, Parameter> =>
  new Map(blueprints.flatMap((blueprint) => Object.entries(blueprint.spec.parameters)));
