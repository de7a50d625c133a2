/** What templates can see (gitops-schema, Blueprint): no clock, no chance, no environment. */
import type { Fleet } from "../gitops/kinds.ts";
import type { Parameter } from "../gitops/kinds/blueprint.ts";
import { judgeParameter } from "../gitops/parameter-values.ts";
import { canonicalJson, decodeKey, encodeKey, isPlainMap, type Plain, type PlainMap } from "../gitops/plain.ts";
import { mapOf } from "../gitops/yaml-convert.ts";
import type { FleetAgent } from "./agent.ts";
import type { Identity } from "./assign.ts";

export type ParameterProblem = { code: "missing_parameter" | "invalid_value"; name: string; message: string };

/** The values of the declared parameters: blueprint default, then fleet, then inventory entry. */
export function parametersFor(
  declarations: ReadonlyMap<string, Parameter>,
  fleet: Fleet,
  identity: Identity,
): { values: PlainMap; problems: ParameterProblem[] } {
  const problems: ParameterProblem[] = [];
  const values: [string, Plain][] = [];
  for (const [name, declared] of declarations) {
    const value = valueOf(identity.entry?.parameters, name) ?? valueOf(fleet.spec.parameters, name) ?? declared.default;
    if (value === undefined) {
      if (declared.required !== true) continue;
      problems.push({ code: "missing_parameter", name, message: `the parameter ${name} is required and not set` });
    } else {
      const message = judgeParameter(declared, value);
      if (message !== undefined)
        problems.push({ code: "invalid_value", name, message: `the parameter ${name} ${message}` });
      values.push([name, value as Plain]);
    }
  }
  return { values: mapOf(values), problems };
}

const valueOf = (map: PlainMap | undefined, key: string): Plain | undefined =>
  map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;

export function scopeFor(
  fleet: Fleet,
  parameters: PlainMap,
  agent: FleetAgent,
  identity: Identity,
  version: string,
): Record<string, unknown> {
  return {
    fleet: { name: fleet.name, labels: fleet.metadata.labels ?? {}, parameters: viewOf(fleet.spec.parameters) },
    parameters: viewOf(parameters),
    agent: {
      instanceUid: agent.uid,
      hostName: agent.hostName,
      os: agent.os,
      arch: agent.arch,
      attributes: agent.attributes,
    },
    inventory: { labels: identity.entry?.labels ?? {}, parameters: viewOf(identity.entry?.parameters ?? {}) },
    version,
  };
}

/** The data behind what a template was shown: keys that are not text keep their type on the way through. */
const behind = new WeakMap<object, Plain>();
const hasEncodedKey = (value: Plain): boolean => {
  if (Array.isArray(value)) return value.some(hasEncodedKey);
  if (!isPlainMap(value)) return false;
  return Object.entries(value).some(([key, member]) => key.startsWith("=") || hasEncodedKey(member));
};

/** Templates name keys as text: `{{ parameters.ports["22"] }}`. */
function viewOf(value: Plain): Plain {
  if (!hasEncodedKey(value)) return value;
  const view = Array.isArray(value)
    ? value.map(viewOf)
    : isPlainMap(value)
      ? mapOf(Object.entries(value).map(([key, member]) => [String(decodeKey(key)), viewOf(member)]))
      : value;
  if (typeof view === "object" && view !== null) behind.set(view, value);
  return view;
}

/** A template's value as data again. */
export function dataOf(value: Plain): Plain {
  if (typeof value !== "object" || value === null) return value;
  const original = behind.get(value);
  if (original !== undefined) return original;
  if (Array.isArray(value)) return value.map(dataOf);
  return mapOf(Object.entries(value).map(([key, member]) => [encodeKey(key), dataOf(member)]));
}

/** One text for everything that `paths` reach in `scope`: equal texts render equally. */
export function readKey(scope: Record<string, unknown>, paths: readonly (readonly string[])[]): string {
  return paths.map((path) => canonicalJson(reached(scope, path))).join("\n");
}

/** The value at `path`, or where the path leaves the data (`list.size`) everything that was reached so far. */
function reached(scope: unknown, path: readonly string[]): unknown {
  let value = scope;
  for (const member of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, member)) {
      return ["left at", member, value === scope ? null : value];
    }
    value = (value as Record<string, unknown>)[member];
  }
  return value;
}
