/** What templates can see (gitops-schema, Blueprint): no clock, no chance, no environment. */
import type { Fleet } from "../gitops/kinds.ts";
import type { Parameter } from "../gitops/kinds/blueprint.ts";
import { judgeParameter } from "../gitops/parameter-values.ts";
import {
  canonicalJson,
  compareText,
  decodeKey,
  encodeKey,
  isPlainMap,
  type Plain,
  type PlainMap,
} from "../gitops/plain.ts";
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
    fleet: {
      name: fleet.name,
      labels: inOrder(fleet.metadata.labels ?? {}),
      parameters: viewOf(fleet.spec.parameters),
    },
    parameters: viewOf(parameters),
    agent: {
      instanceUid: agent.uid,
      hostName: agent.hostName,
      os: agent.os,
      arch: agent.arch,
      /** Few templates read them, and agents are many: put in order when they are read. */
      get attributes(): unknown {
        return inOrder(agent.attributes);
      },
    },
    inventory: { labels: inOrder(identity.entry?.labels ?? {}), parameters: viewOf(identity.entry?.parameters ?? {}) },
    version,
  };
}

/** Labels and reported attributes, whose keys are text and not encoded, in one order. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isPlainMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, inOrder(member)] as const)
      .toSorted(([a], [b]) => compareText(a, b)),
  );
}

/** What a template was shown of some data, and the data behind it: a key that is not text keeps its type on the way. */
const views = new WeakMap<object, Plain>();
const behind = new WeakMap<object, Plain>();

/**
 * As templates see data: keys are text (`{{ parameters.ports["22"] }}`), and maps have one order whatever order they were
 * written or reported in, because a `for` and the filter `json` show it.
 */
function viewOf(value: Plain): Plain {
  if (typeof value !== "object" || value === null) return value;
  const known = views.get(value);
  if (known !== undefined) return known;
  const view = Array.isArray(value) ? value.map(viewOf) : mapOf(sortedMembers(value));
  views.set(value, view);
  if (typeof view === "object" && view !== null) behind.set(view, value);
  return view;
}

const sortedMembers = (map: PlainMap): [string, Plain][] =>
  Object.entries(map)
    .map(([key, member]): [string, Plain] => [String(decodeKey(key)), viewOf(member)])
    .toSorted(([a], [b]) => compareText(a, b));

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

/** The data at `path`, or where the path leaves it (`list.size`) everything that was reached so far. */
function reached(scope: Record<string, unknown>, path: readonly string[]): unknown {
  let value: unknown = scope;
  for (const member of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, member)) {
      return ["left at", member, value === scope ? null : dataOf(value as Plain)];
    }
    value = (value as Record<string, unknown>)[member];
  }
  // the data, not its view: the keys 22 and "22" look alike to a template and are not the same
  return dataOf(value as Plain);
}
