import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAllDocuments, parse } from "yaml";
import type { z } from "zod";
import { COMBINED_SCHEMA, jsonSchemas, SAMPLE_SCHEMA, schemaFileOf } from "./json-schema.ts";
import { KINDS, metadata, SPECS, type Kind } from "./kinds.ts";
import { sampleAgent } from "./kinds/sample-agent.ts";
import { isPlainMap, type Plain, type PlainMap } from "./plain.ts";
import { checkSchema } from "./schema-issues.ts";

const schemas = jsonSchemas();
// formats are for editors; the patterns beside them are what counts
const ajv = new Ajv({ allErrors: true, strictTypes: false, validateFormats: false });
ajv.addVocabulary(["markdownDescription"]);
const judges = new Map(Object.entries(schemas).map(([name, schema]) => [name, ajv.compile(schema)]));
const allows = (file: string, data: unknown): boolean => judges.get(file)?.(data) === true;

type Doc = { path: string; data: PlainMap };
const root = fileURLToPath(new URL("../../../examples/", import.meta.url));
const documents = (example: string): Doc[] =>
  readdirSync(join(root, example), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".yaml") && !path.split("/").some((part) => part.startsWith(".")))
    .flatMap((path) =>
      parseAllDocuments(readFileSync(join(root, example, path), "utf8"), { merge: true }).map((document): Doc => {
        const data: unknown = document.toJS();
        return { path: `${example}/${path}`, data: isPlainMap(data) ? data : {} };
      }),
    );
const examples = ["quickstart", "starter"].filter((name) => existsSync(join(root, name))).flatMap(documents);
const objects = examples.filter(({ data }) => data["kind"] !== undefined);
const samples = examples.filter(({ path }) => path.includes("/samples/agents/"));

const kindOf = (data: PlainMap): Kind | undefined => KINDS.find((kind) => kind === data["kind"]);
/** What strict validation says of one object by itself. */
function accepts(data: PlainMap): boolean {
  const kind = kindOf(data);
  const { apiVersion, metadata: meta = null, spec = null, ...more } = data;
  if (kind === undefined || apiVersion !== "myriarch.dev/v1alpha1") return false;
  const extra = Object.keys(more).filter((key) => key !== "kind");
  return (
    extra.length === 0 &&
    checkSchema(metadata, meta).findings.length === 0 &&
    checkSchema(SPECS[kind] as z.ZodType, spec).findings.length === 0
  );
}

describe("the schemas take", () => {
  test.each(objects)("the object of $path", ({ data }) => {
    const kind = kindOf(data);
    expect(kind).toBeDefined();
    expect(allows(schemaFileOf(kind ?? "Fleet"), data), ajv.errorsText(judges.get(COMBINED_SCHEMA)?.errors)).toBe(true);
    expect(allows(COMBINED_SCHEMA, data)).toBe(true);
    for (const other of KINDS) if (other !== kind) expect(allows(schemaFileOf(other), data)).toBe(false);
  });
  test.each(samples)("the sample of $path", ({ data }) => {
    expect(allows(SAMPLE_SCHEMA, data)).toBe(true);
  });
  test("examples of every kind are among them", () => {
    expect(new Set(objects.map(({ data }) => data["kind"]))).toEqual(new Set(KINDS));
    expect(samples.length).toBeGreaterThan(3);
  });
});

const object = (kind: string, spec: string): string =>
  `{apiVersion: myriarch.dev/v1alpha1, kind: ${kind}, metadata: {name: x}, spec: ${spec}}`;
const window = (more: string): string =>
  object(
    "RolloutPolicy",
    `{maintenanceWindows: [{days: [mon], start: "22:00", end: "04:00", timezone: UTC, ${more}}]}`,
  );

describe("the schemas refuse what validation refuses for its shape", () => {
  test.each([
    ["an unknown field of a spec", object("Fleet", "{selector: {}, blueprint: base, blueprnt: base}")],
    [
      "an unknown field of the envelope",
      object("Fleet", "{selector: {}, blueprint: base}").replace("{api", "{status: {}, api"),
    ],
    [
      "an unknown field of the metadata",
      object("Fleet", "{selector: {}, blueprint: base}").replace("{name", "{lables: {}, name"),
    ],
    ["another API version", object("Fleet", "{selector: {}, blueprint: base}").replace("v1alpha1", "v1")],
    ["an unknown kind", object("Flet", "{selector: {}, blueprint: base}")],
    ["an upper-case name", object("Fleet", "{selector: {}, blueprint: base}").replace("name: x", "name: X")],
    ["a missing selector", object("Fleet", "{blueprint: base}")],
    ["a selector left empty", object("Fleet", "{selector: , blueprint: base}")],
    ["a label that is not text", object("Fleet", "{selector: {matchLabels: {real: true}}, blueprint: base}")],
    ["In without values", object("Fleet", "{selector: {matchExpressions: [{key: a, operator: In}]}, blueprint: base}")],
    [
      "Exists with values",
      object("Fleet", "{selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}, blueprint: base}"),
    ],
    ["a version that is a number", object("Fleet", "{selector: {}, blueprint: base, version: {target: 0.162}}")],
    ["a version with v", object("Fleet", "{selector: {}, blueprint: base, version: {target: v0.162.0}}")],
    ["neither target nor choice", object("Fleet", "{selector: {}, blueprint: base, version: {}}")],
    [
      "both range and list",
      object(
        "Fleet",
        "{selector: {}, blueprint: base, version: {choice: {range: '*', list: ['0.162.0'], default: '0.162.0'}}}",
      ),
    ],
    ["a priority in words", object("Fleet", "{selector: {}, blueprint: base, priority: high}")],
    ["parameters that are a list", object("Fleet", "{selector: {}, blueprint: base, parameters: []}")],
    ["a duration without unit", object("RolloutPolicy", `{healthWait: "90"}`)],
    ["a share in words", object("RolloutPolicy", "{maxConcurrent: many}")],
    ["a wave without size", object("RolloutPolicy", "{waves: [{name: a}]}")],
    ["an unknown day", window("days: [someday]")],
    ["an offset as zone", window(`timezone: "+03:00"`)],
    ["a start at 24:00", window(`start: "24:00"`)],
    ["a fragment without config", object("Blueprint", "{fragments: [{name: a}]}")],
    ["an unknown parameter type", object("Blueprint", "{parameters: {a: {type: text}}}")],
    ["a parameter name with a dash", object("Blueprint", "{parameters: {a-b: {type: string}}}")],
    ["an executor without its section", object("Executor", "{type: awx}")],
    [
      "an executor with two secrets",
      object("Executor", "{type: webhook, webhook: {url: 'https://x/', secretEnv: A, secretFile: b}}"),
    ],
    ["the section of another type", object("Executor", "{type: updater, webhook: {url: 'https://x/', secretEnv: A}}")],
    ["an entry without host", object("Inventory", "{entries: [{labels: {}}]}")],
  ])("%s", (_, text) => {
    const data = parse(text, { uniqueKeys: false }) as PlainMap;
    expect(accepts(data)).toBe(false);
    expect(allows(COMBINED_SCHEMA, data)).toBe(false);
  });
});

const NEAR: Plain[] = [
  "0.162.0",
  "1.0.0-rc.1",
  "v1.0.0",
  "90s",
  "1h30m",
  ".5h",
  "0",
  "10%",
  "100.5%",
  "007",
  "22:00",
  "24:00",
  "UTC",
  "Europe/Berlin",
  "Etc/GMT+3",
  "a",
  "A-b",
  "https://x/",
  "http://x",
  "In",
  "Exists",
  "wait",
  "updater",
  "",
  "*",
  "01890A5D-AC96-774B-BCCE-B302099A8057",
  0,
  1,
  -1,
  1.5,
  2 ** 53,
  true,
  false,
  null,
];

describe("nothing that validation accepts is refused", () => {
  /** Values that are near to right ones. */
  const values = fc.oneof(
    fc.constantFrom(...NEAR),
    fc.constant<Plain>([]),
    fc.constant<Plain>({}),
    fc.constant<Plain>({ a: "b" }),
    fc.string({ maxLength: 5 }),
  );
  type Edit = { pick: number; value: Plain; how: "set" | "remove" | "add" | "repeat"; key: string };
  const edits = fc.array(
    fc.record<Edit>({
      pick: fc.nat(),
      value: values,
      how: fc.constantFrom("set", "remove", "add", "repeat"),
      key: fc.constantFrom(
        "name",
        "description",
        "labels",
        "priority",
        "spacing",
        "upTo",
        "range",
        "list",
        "values",
        "x",
      ),
    }),
    { minLength: 1, maxLength: 3 },
  );

  test("whatever is changed in an object of the examples (2000 times)", () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.constantFrom(...objects), edits, ({ data }, changes) => {
        const changed = changes.reduce(apply, structuredClone(data));
        if (!accepts(changed)) return;
        accepted += 1;
        const file = schemaFileOf(kindOf(changed) ?? "Fleet");
        expect(allows(file, changed), JSON.stringify([changed, judges.get(file)?.errors])).toBe(true);
        expect(allows(COMBINED_SCHEMA, changed)).toBe(true);
      }),
      { numRuns: 2000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });
  test("samples too", () => {
    fc.assert(
      fc.property(fc.constantFrom(...samples), edits, ({ data }, changes) => {
        const changed = changes.reduce(apply, structuredClone(data));
        if (checkSchema(sampleAgent, changed).findings.length === 0) expect(allows(SAMPLE_SCHEMA, changed)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  function apply(data: PlainMap, { pick, value: given, how, key }: Edit): PlainMap {
    // what is drawn is used again: it must not be what a later edit changes
    const value = structuredClone(given);
    const places = placesOf(data);
    const place = places[pick % places.length];
    if (place === undefined) return data;
    const [container, member] = place;
    if (how === "add" && isPlainMap(container)) container[key] = value;
    else if (how === "repeat" && Array.isArray(container)) container.push(structuredClone(container[0] ?? value));
    else if (how === "remove" && isPlainMap(container)) delete container[member];
    else (container as PlainMap)[member] = value;
    return data;
  }
  function placesOf(value: Plain): [PlainMap | Plain[], string][] {
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([key, member]) => [
      [value, key] as [PlainMap | Plain[], string],
      ...placesOf(member),
    ]);
  }
});

describe("for editors", () => {
  type Schema = { description?: string; properties?: Record<string, Schema>; [keyword: string]: unknown };
  const undescribed = (schema: Schema, path: string): string[] =>
    Object.entries(schema).flatMap(([keyword, value]) => {
      if (
        typeof value !== "object" ||
        value === null ||
        ["examples", "default", "if", "then", "else"].includes(keyword)
      )
        return [];
      if (keyword !== "properties") return undescribed(value as Schema, path);
      return Object.entries(value as Record<string, Schema | false>).flatMap(([name, field]) => {
        if (field === false) return [];
        const at = `${path}.${name}`;
        return [...(field.description === undefined ? [at] : []), ...undescribed(field, at)];
      });
    });
  test.each(Object.keys(schemas))("every field of %s has a description", (name) => {
    expect(undescribed(schemas[name] as Schema, "")).toEqual([]);
  });
  test("one file per kind, one for samples, one for all, each of draft-07", () => {
    expect(Object.keys(schemas)).toEqual([
      "blueprint.schema.json",
      "fleet.schema.json",
      "rollout-policy.schema.json",
      "executor.schema.json",
      "inventory.schema.json",
      "sample-agent.schema.json",
      "myriarch.schema.json",
    ]);
    for (const schema of Object.values(schemas))
      expect(schema).toMatchObject({ $schema: "http://json-schema.org/draft-07/schema#" });
  });
});
