/** The six free-form areas take any key; everything around them is strict (contract, "Rules for the repository"). */
import { describe, expect, test } from "vitest";
import { DEFAULT_LIMITS, type RepositoryFile } from "./repository-files.ts";
import { validateRevision, type Verdict } from "./validate.ts";

const validate = (files: Record<string, string>): Verdict =>
  validateRevision(
    Object.entries(files).map(([path, text]): RepositoryFile => {
      const bytes = new TextEncoder().encode(text);
      return { path, mode: "100644", size: bytes.length, bytes };
    }),
    DEFAULT_LIMITS,
  );
const object = (kind: string, spec: string): string =>
  `apiVersion: myriarch.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: x}\nspec: ${spec}\n`;

/** Keys that a strict place, JavaScript or a YAML reader could trip over. */
const ANY = `{__proto__: 1, constructor: 2, toString: 3, "a b": 4, "x.y/z": 5, "": 6, 22: 7, true: 8, "=": 9, blueprnt: {nested: [1]}}`;
const AREAS: [area: string, kind: string, spec: (map: string) => string][] = [
  ["Blueprint.spec.config", "Blueprint", (map) => `{config: ${map}}`],
  ["the config of a fragment", "Blueprint", (map) => `{fragments: [{name: a, config: ${map}}]}`],
  ["Fleet.spec.parameters", "Fleet", (map) => `{selector: {}, blueprint: base, parameters: ${map}}`],
  ["Fleet.spec.update.params", "Fleet", (map) => `{selector: {}, blueprint: base, update: {params: ${map}}}`],
  ["Inventory.spec.entries[].parameters", "Inventory", (map) => `{entries: [{host: a, parameters: ${map}}]}`],
  [
    "Executor.spec.awx.extraVars",
    "Executor",
    (map) => `{type: awx, awx: {url: "https://awx/", jobTemplate: a, tokenEnv: T, extraVars: ${map}}}`,
  ],
];

describe("any key, and it is kept", () => {
  test.each(AREAS)("in %s", (_, kind, spec) => {
    const { issues, objects } = validate({ "x.yaml": object(kind, spec(ANY)) });
    // a parameter needs a declaration: that is judged across objects, the object itself is accepted
    const shape = issues.filter(({ code }) => ["unknown_field", "missing_field", "invalid_value"].includes(code));
    expect(shape).toEqual([]);
    const kept = JSON.stringify(objects[0]?.spec);
    for (const member of ['"__proto__":1', '"constructor":2', '"toString":3', '"a b":4', '"x.y/z":5', '"":6'])
      expect(kept).toContain(member);
    for (const member of ['"=22":7', '"=true":8', '"==":9', '"blueprnt":{"nested":[1]}'])
      expect(kept).toContain(member);
  });
  test.each(AREAS)("but %s is a map", (_, kind, spec) => {
    for (const value of ["[]", "text", "1"]) {
      const { issues } = validate({ "x.yaml": object(kind, spec(value)) });
      expect(issues.map(({ code }) => code)).toContain("invalid_value");
    }
  });
});

describe("beside them the same key is unknown", () => {
  const STRICT: [place: string, kind: string, spec: string][] = [
    ["a fragment", "Blueprint", "{fragments: [{name: a, config: {}, blueprnt: 1}]}"],
    ["a parameter's declaration", "Blueprint", "{parameters: {a: {type: string, blueprnt: 1}}}"],
    ["update", "Fleet", "{selector: {}, blueprint: base, update: {blueprnt: 1}}"],
    ["version", "Fleet", '{selector: {}, blueprint: base, version: {target: "0.162.0", blueprnt: 1}}'],
    ["an entry", "Inventory", "{entries: [{host: a, blueprnt: 1}]}"],
    ["awx", "Executor", `{type: awx, awx: {url: "https://awx/", jobTemplate: a, tokenEnv: T, blueprnt: 1}}`],
    ["a wave", "RolloutPolicy", "{waves: [{name: a, upTo: 1, blueprnt: 1}]}"],
    ["a selector", "Fleet", "{selector: {blueprnt: 1}, blueprint: base}"],
  ];
  test.each(STRICT)("in %s", (_, kind, spec) => {
    const { issues } = validate({ "x.yaml": object(kind, spec) });
    expect(issues.map(({ code, path }) => `${code} ${path.split(".").at(-1)}`)).toContain("unknown_field blueprnt");
  });
});
