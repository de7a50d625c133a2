/** Parameters: declarations that make sense, values that fit them, required ones that are set. */
import { closest } from "../config/closest.ts";
import { chainOf, declarationsOf } from "./chain.ts";
import type { Issue } from "./issue-codes.ts";
import type { Parameter } from "./kinds/blueprint.ts";
import { judgeDeclaration, judgeParameter } from "./parameter-values.ts";
import { canonicalJson } from "./plain.ts";
import { locatedOf, report, type LocatedOf, type Revision } from "./revision.ts";
import { inventories } from "./snapshot.ts";

export function checkDeclarations(revision: Revision): Issue[] {
  return locatedOf(revision, "Blueprint").flatMap((located) =>
    Object.entries(located.object.spec.parameters).flatMap(([name, declared]) =>
      judgeDeclaration(declared).map(({ path, message }) =>
        report(located, { code: "invalid_value", path: ["spec", "parameters", name, ...path], at: "value", message }),
      ),
    ),
  );
}

export function checkFleetParameters(revision: Revision): Issue[] {
  const given = new Set(
    inventories(revision).flatMap(({ spec }) => spec.entries.flatMap((e) => Object.keys(e.parameters))),
  );
  return locatedOf(revision, "Fleet").flatMap((located) => {
    const chain = chainOf(revision, located.object.spec.blueprint);
    if (!chain.ok) return [];
    const declared = declarationsOf(chain.blueprints);
    return [...checkValues(located, declared), ...checkRequired(located, declared, given)];
  });
}

function checkValues(located: LocatedOf<"Fleet">, declared: ReadonlyMap<string, Parameter>): Issue[] {
  return Object.entries(located.object.spec.parameters).flatMap(([name, value]) => {
    const path = ["spec", "parameters", name];
    const declaration = declared.get(name);
    if (declaration === undefined) {
      const near = closest(name, [...declared.keys()]);
      const hint = near === undefined ? {} : { hint: `did you mean ${near}?` };
      const message = `${name} is not declared by the blueprint ${located.object.spec.blueprint}`;
      return [report(located, { code: "unknown_parameter", path, at: "key", message, ...hint })];
    }
    const message = value === null ? undefined : judgeParameter(declaration, value);
    return message === undefined ? [] : [report(located, { code: "invalid_value", path, at: "value", message })];
  });
}

/** What no inventory entry sets either can never be set. What some entries set is judged host by host. */
function checkRequired(
  located: LocatedOf<"Fleet">,
  declared: ReadonlyMap<string, Parameter>,
  given: ReadonlySet<string>,
): Issue[] {
  return [...declared].flatMap(([name, declaration]) => {
    const isSet = (located.object.spec.parameters[name] ?? null) !== null || given.has(name);
    if (declaration.required !== true || isSet) return [];
    const message = `the parameter ${name} of ${located.object.spec.blueprint} is required and not set`;
    return [report(located, { code: "missing_parameter", path: ["spec", "parameters"], at: "key", message })];
  });
}

/** Host names compare without case; one host has one entry in all of the inventory. */
export function checkInventory(revision: Revision, readDirectly: ReadonlySet<string>): Issue[] {
  const first = new Map<string, () => string>();
  const declarations = declarationsByName(revision);
  return locatedOf(revision, "Inventory").flatMap((located) =>
    located.object.spec.entries.flatMap((entry, index) => {
      const path = ["spec", "entries", index, "host"];
      const host = entry.host.toLowerCase();
      const before = first.get(host);
      if (before === undefined) {
        // where it stands is looked up only when somebody asks: there may be very many
        first.set(host, () => `${located.file}:${located.document.valueAt(path).line}`);
        return checkEntry(located, index, declarations, readDirectly);
      }
      const message = `the host ${entry.host} has an entry here and in ${before()}`;
      const twice = report(located, { code: "duplicate_entry", path, at: "value", message });
      return [twice, ...checkEntry(located, index, declarations, readDirectly)];
    }),
  );
}

type Declarations = ReadonlyMap<string, readonly Parameter[]>;

/** What the blueprints declare under each name; equal declarations count once. */
function declarationsByName(revision: Revision): Declarations {
  const byName = new Map<string, Map<string, Parameter>>();
  for (const { object } of locatedOf(revision, "Blueprint")) {
    for (const [name, declared] of Object.entries(object.spec.parameters)) {
      const same = byName.get(name) ?? new Map<string, Parameter>();
      byName.set(name, same.set(canonicalJson(declared), declared));
    }
  }
  return new Map([...byName].map(([name, distinct]) => [name, [...distinct.values()]]));
}

function checkEntry(
  located: LocatedOf<"Inventory">,
  index: number,
  declarations: Declarations,
  readDirectly: ReadonlySet<string>,
): Issue[] {
  return Object.entries(located.object.spec.entries[index]?.parameters ?? {}).flatMap(([name, value]) => {
    const path = ["spec", "entries", index, "parameters", name];
    const fitting = declarations.get(name);
    if (fitting === undefined) {
      if (readDirectly.has(name)) return [];
      const near = closest(name, [...declarations.keys()]);
      const hint = near === undefined ? {} : { hint: `did you mean ${near}?` };
      const message = `${name} is neither declared nor read by a blueprint`;
      return [report(located, { code: "unknown_parameter", path, at: "key", message, ...hint })];
    }
    if (value === null) return [];
    const problems = fitting.map((declared) => judgeParameter(declared, value));
    const [message] = problems;
    if (message === undefined || problems.includes(undefined)) return [];
    return [report(located, { code: "invalid_value", path, at: "value", message })];
  });
}
