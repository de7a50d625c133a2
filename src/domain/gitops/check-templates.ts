/** Templates that can be judged without an agent: do they compile, and does what they read exist? */
import { closest } from "../config/closest.ts";
import { templatesOf, type Condition } from "../fleet/blueprint.ts";
import type { Leaf } from "../fleet/config-tree.ts";
import { chainOf, declarationsOf } from "./chain.ts";
import type { Issue } from "./issue-codes.ts";
import type { Blueprint } from "./kinds.ts";
import { locate, locatedOf, report, type Revision } from "./revision.ts";
import type { Finding } from "./schema-issues.ts";
import { fleets, objectsOf } from "./snapshot.ts";
import { templateHint } from "./template-hints.ts";

/** What templates can see; null where what follows depends on agents. */
const SCOPE: Record<string, readonly string[] | null> = {
  fleet: ["name", "labels", "parameters"],
  parameters: null,
  agent: ["instanceUid", "hostName", "os", "arch", "attributes"],
  inventory: ["labels", "parameters"],
  version: null,
};

export function checkTemplates(revision: Revision): Issue[] {
  const broken = locatedOf(revision, "Blueprint").flatMap((located) =>
    templatesOf(located.object).flatMap((template) => {
      const { error } = template;
      const fault = error === undefined ? unknownVariable(template) : { message: error, ...templateHint(error) };
      const path = template.origin.path;
      return fault === undefined ? [] : [report(located, { code: "template_error", path, at: "value", ...fault })];
    }),
  );
  return [...broken, ...checkReads(revision)];
}

const readsOf = (template: Leaf | Condition): readonly (readonly string[])[] =>
  "reads" in template ? template.reads : (template.compiled?.reads ?? []);

type Fault = { message: string; hint?: string };

function unknownVariable(template: Leaf | Condition): Fault | undefined {
  for (const [root = "", member] of readsOf(template)) {
    const members = Object.hasOwn(SCOPE, root) ? SCOPE[root] : undefined;
    if (members === undefined) return { message: `unknown variable ${root}`, ...rootHint(root) };
    if (members !== null && member !== undefined && !members.includes(member)) {
      const near = closest(member, members);
      const hint = near === undefined ? `${root} has ${members.join(", ")}` : `did you mean ${root}.${near}?`;
      return { message: `unknown variable ${root}.${member}`, hint };
    }
  }
  return undefined;
}

/** Words with which templates of Go (Helm) begin an action. */
const GO_ACTIONS = new Set(["if", "else", "end", "range", "with", "define", "include", "template"]);

function rootHint(root: string): { hint: string } {
  if (GO_ACTIONS.has(root))
    return { hint: "templates are Liquid: {% if … %} … {% endif %}, {% for … %} … {% endfor %}" };
  const near = closest(root, Object.keys(SCOPE));
  return { hint: near === undefined ? `there are ${Object.keys(SCOPE).join(", ")}` : `did you mean ${near}?` };
}

/** `parameters.x` must be declared in the chain of whichever blueprint is used; an ancestor may read what heirs declare. */
function checkReads(revision: Revision): Issue[] {
  const extended = new Set(objectsOf(revision, "Blueprint").map(({ spec }) => spec.extends));
  const used = new Set(fleets(revision).map(({ spec }) => spec.blueprint));
  const issues = new Map<string, Issue>();
  for (const { name } of objectsOf(revision, "Blueprint")) {
    const chain = chainOf(revision, name);
    if (!chain.ok || (extended.has(name) && !used.has(name))) continue;
    const declared = [...declarationsOf(chain.blueprints).keys()];
    for (const blueprint of chain.blueprints) {
      for (const finding of undeclaredReads(blueprint, declared)) {
        const located = locate(revision, "Blueprint", blueprint.name);
        if (located === undefined) continue;
        const issue = report(located, finding);
        issues.set(`${issue.file} ${issue.path} ${issue.message}`, issue);
      }
    }
  }
  return [...issues.values()];
}

function undeclaredReads(blueprint: Blueprint, declared: readonly string[]): Finding[] {
  return templatesOf(blueprint).flatMap((template) =>
    readsOf(template).flatMap(([root, name]): Finding[] => {
      if (root !== "parameters" || name === undefined || declared.includes(name)) return [];
      const near = closest(name, declared);
      const hint = near === undefined ? {} : { hint: `did you mean ${near}?` };
      const message = `the parameter ${name} is not declared`;
      return [{ code: "unknown_parameter", path: template.origin.path, at: "value", message, ...hint }];
    }),
  );
}

/** Names that templates read as `inventory.parameters.<name>`: an entry may hold them without a declaration. */
export const inventoryReads = (revision: Revision): Set<string> =>
  new Set(
    objectsOf(revision, "Blueprint").flatMap((blueprint) =>
      templatesOf(blueprint)
        .flatMap(readsOf)
        .flatMap(([root, section, name]) =>
          root === "inventory" && section === "parameters" && name !== undefined ? [name] : [],
        ),
    ),
  );
