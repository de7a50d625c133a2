/** Real configurations render to the same data, as every reader of YAML sees them (issue 4, "A corpus run"). */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { CORE_SCHEMA, load, mergeTag, YAML11_SCHEMA } from "js-yaml";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { asBlueprint } from "../../../test/corpus/as-blueprint.ts";
import { fleets } from "../gitops/snapshot.ts";
import { DEFAULT_LIMITS, type RepositoryFile } from "../gitops/repository-files.ts";
import { validateRevision, type Verdict } from "../gitops/validate.ts";
import type { FleetAgent } from "./agent.ts";
import { renderConfig } from "./render.ts";

const FOLDER = new URL("../../../test/corpus/", import.meta.url);
const textsIn = (folder: URL): [string, string][] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => [name.replace(/\.yaml$/, ""), readFileSync(new URL(name, folder), "utf8")]);
const corpus = textsIn(FOLDER);
const sourceOf = new Map(corpus);
const byHand = textsIn(new URL("by-hand/", FOLDER));

const FLEET = `apiVersion: myriarch.dev/v1alpha1
kind: Fleet
metadata: {name: all}
spec: {selector: {}, blueprint: corpus, version: {target: "0.162.0"}}
`;
const SAMPLE = "name: one\nattributes: {host.name: one, os.type: linux}\n";
const AGENT: FleetAgent = {
  uid: "one",
  hostName: "one",
  os: "linux",
  arch: "amd64",
  serviceName: "otelcol-contrib",
  version: "0.162.0",
  credential: "",
  credentialLabels: {},
  attributes: { "os.type": "linux" },
};
const fileOf = (path: string, text: string): RepositoryFile => {
  const bytes = new TextEncoder().encode(text);
  return { path, mode: "100644", size: bytes.length, bytes };
};
const validate = (blueprint: string): Verdict => {
  const files = [
    fileOf("blueprints/corpus.yaml", blueprint),
    fileOf("fleets/all.yaml", FLEET),
    fileOf("samples/agents/one.yaml", SAMPLE),
  ];
  return validateRevision(files, DEFAULT_LIMITS);
};
const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

function render(blueprint: string): string {
  const verdict = validate(blueprint);
  expect(verdict.issues).toEqual([]);
  const [fleet] = fleets(verdict);
  if (fleet === undefined) throw new Error("the fleet is not there");
  const rendered = renderConfig(verdict, fleet, AGENT, "0.162.0", sha256);
  if (!rendered.ok) throw new Error(`${rendered.code}: ${rendered.message}`);
  expect(rendered.hash).toEqual(sha256(rendered.bytes));
  return new TextDecoder("utf-8", { fatal: true }).decode(rendered.bytes);
}

type Read = (text: string) => unknown;
/** As a map whose keys keep their type: `22` and `"22"` are not the same. */
const withTypedKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withTypedKeys);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([key, member]) => [JSON.stringify(key), withTypedKeys(member)]));
};
const yaml =
  (version: "1.1" | "1.2"): Read =>
  (text) =>
    withTypedKeys(parse(text, { version, uniqueKeys: true, merge: true, mapAsMap: true }));
const jsYaml =
  (schema: typeof CORE_SCHEMA): Read =>
  (text) =>
    load(text, { schema });

/** Who reads the bytes, and how the file was meant: a repository is read as YAML 1.2 (decisions, YAML). */
const READERS: [name: string, emitted: Read, source: Read][] = [
  ["yaml 1.1", yaml("1.1"), yaml("1.2")],
  ["yaml 1.2", yaml("1.2"), yaml("1.2")],
  ["js-yaml 1.1", jsYaml(YAML11_SCHEMA), jsYaml(CORE_SCHEMA.withTags(mergeTag))],
  ["js-yaml core", jsYaml(CORE_SCHEMA), jsYaml(CORE_SCHEMA.withTags(mergeTag))],
];

function expectSame(text: string, source: string): void {
  for (const [name, readEmitted, readSource] of READERS) expect(readEmitted(text), name).toEqual(readSource(source));
}

test("the corpus holds at least forty configurations, and each hand-written blueprint has its source", () => {
  expect(corpus.length).toBeGreaterThanOrEqual(40);
  expect(byHand.filter(([name]) => !sourceOf.has(name))).toEqual([]);
});

describe("a configuration wrapped as a blueprint is valid, renders unchanged in meaning, and warns of nothing", () => {
  test.each(corpus)("%s", (_, source) => {
    const text = render(asBlueprint("corpus", source));
    expectSame(text, source);
    expect(render(asBlueprint("corpus", text)), "what was rendered renders to itself").toBe(text);
  });

  test.each(byHand)("%s, wrapped by hand", (name, blueprint) => {
    expectSame(render(blueprint), sourceOf.get(name) ?? "");
  });
});
