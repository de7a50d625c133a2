/** References between objects: names that exist, chains that end, names that are given once. */
import { chainOf, MAX_CHAIN } from "./chain.ts";
import type { Issue } from "./issue-codes.ts";
import { KINDS, type Kind } from "./kinds.ts";
import { compareText } from "./plain.ts";
import type { Source } from "./read-objects.ts";
import { hintFor, locatedOf, report, type Revision } from "./revision.ts";
import { BUILT_IN } from "./snapshot.ts";
import type { Path } from "./yaml-convert.ts";

/** Two objects of one kind and name: the issue stands at the second and names both places. */
export function findDuplicates(sources: readonly Source[]): Issue[] {
  const first = new Map<string, Source>();
  return sources.flatMap((source) => {
    const { kind, name } = source;
    if (name === undefined || !KINDS.some((known) => known === kind)) return [];
    const before = first.get(`${kind}/${name}`);
    if (before === undefined) {
      first.set(`${kind}/${name}`, source);
      return [];
    }
    const at = before.document.valueAt(["metadata", "name"]);
    const message = `${kind} ${name} is defined here and in ${before.file}:${at.line}`;
    return [report(source, { code: "duplicate_object", path: ["metadata", "name"], at: "value", message })];
  });
}

export function checkReferences(revision: Revision): Issue[] {
  return [...checkFleets(revision), ...checkChains(revision)];
}

function checkFleets(revision: Revision): Issue[] {
  return locatedOf(revision, "Fleet").flatMap((located) => {
    const { blueprint, rolloutPolicy, update } = located.object.spec;
    return [
      ...check(revision, located, "Blueprint", blueprint, ["spec", "blueprint"]),
      ...check(revision, located, "RolloutPolicy", rolloutPolicy, ["spec", "rolloutPolicy"], BUILT_IN.policy),
      ...check(revision, located, "Executor", update.executor, ["spec", "update", "executor"], BUILT_IN.executor),
    ];
  });
}

function check(
  revision: Revision,
  source: Source,
  kind: Kind,
  name: string | undefined,
  path: Path,
  builtIn?: string,
): Issue[] {
  if (name === undefined || name === builtIn || revision.declared.has(`${kind}/${name}`)) return [];
  const message = `no ${kind} is named ${name}`;
  return [report(source, { code: "unknown_reference", path, at: "value", message, ...hintFor(revision, kind, name) })];
}

/** A circle is reported once, at its first member; a long chain where it passes the limit. Heirs are not at fault. */
function checkChains(revision: Revision): Issue[] {
  const seen = new Set<string>();
  return locatedOf(revision, "Blueprint").flatMap((located) => {
    const { name, spec } = located.object;
    const path = ["spec", "extends"];
    const direct = check(revision, located, "Blueprint", spec.extends, path);
    const chain = chainOf(revision, name);
    if (direct.length > 0 || chain.ok || chain.because === "missing") return direct;
    const message =
      chain.because === "circle" ? circleText(chain.members, name, seen) : lengthText(revision, spec.extends);
    return message === undefined ? [] : [report(located, { code: "extends_cycle", path, at: "value", message })];
  });
}

function circleText(members: readonly string[], name: string, seen: Set<string>): string | undefined {
  const circle = members.toSorted(compareText).join(" ");
  if (!members.includes(name) || seen.has(circle)) return undefined;
  seen.add(circle);
  return `the blueprints extend each other: ${[...members, name].join(" extends ")}`;
}

const lengthText = (revision: Revision, parent: string | undefined): string | undefined =>
  parent !== undefined && chainOf(revision, parent).ok
    ? `the chain is longer than ${MAX_CHAIN} blueprints: ${parent} ends one of ${MAX_CHAIN} already`
    : undefined;
