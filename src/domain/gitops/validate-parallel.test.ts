/** The two stages of validation: what a file is by itself, and what all are together. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseComponentList } from "./component-list.ts";
import { readFile, type FileReading } from "./file-reading.ts";
import { DEFAULT_LIMITS, type RepositoryFile } from "./repository-files.ts";
import { judgeReadings, planReading, validateRevision, type ValidateOptions } from "./validate.ts";

const file = (path: string, text: string): RepositoryFile => {
  const bytes = new TextEncoder().encode(text);
  return { path, mode: "100644", size: bytes.length, bytes };
};
const object = (kind: string, name: string, spec: string): string =>
  `apiVersion: myriarch.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
const PIPELINES = "service: {pipelines: {metrics: {receivers: [otlp], exporters: [debug]}}}";
const config = (more = ""): string => `{receivers: {otlp: {}}, exporters: {debug: {}}, ${more}${PIPELINES}}`;

/** Good files and bad ones, whose issues stand in one file, in two, or in what is rendered of several. */
const POOL = [
  file("blueprints/base.yaml", object("Blueprint", "base", `{config: ${config()}}`)),
  file("blueprints/twice.yaml", object("Blueprint", "base", `{config: ${config()}}`)),
  file("blueprints/child.yaml", object("Blueprint", "child", `{extends: base,\n config: {exporters: {debug: null}}}`)),
  file("blueprints/proto.yaml", object("Blueprint", "proto", `{config: ${config("__proto__: {a: 1}, 22: {b: 2}, ")}}`)),
  file("blueprints/loop.yaml", object("Blueprint", "loop", "{extends: loop, config: {}}")),
  file(
    "blueprints/parameters.yaml",
    object("Blueprint", "parameters", `{extends: base, parameters: {site: {type: string, required: true}}}`),
  ),
  file("fleets/all.yaml", object("Fleet", "all", "{selector: {}, blueprint: base}")),
  file("fleets/tie.yaml", object("Fleet", "tie", "{selector: {},\n blueprint: child}")),
  file("fleets/proto.yaml", object("Fleet", "proto", "{selector: {}, priority: 3, blueprint: proto}")),
  file("fleets/none.yaml", object("Fleet", "none", "{selector: {matchLabels: {a: b}}, blueprint: nope}")),
  file("fleets/wrong.yaml", object("Fleet", "wrong", "{selector: {}, blueprint: parameters, colour: red}")),
  file("fleets/unset.yaml", object("Fleet", "unset", "{selector: {},\n priority: 9,\n blueprint: parameters}")),
  file("inventory/a.yaml", object("Inventory", "a", "{entries: [{host: one, parameters: {site: x}}, {host: ONE}]}")),
  file("inventory/b.yaml", object("Inventory", "b", "{entries: [{host: one,\n parameters: {typo: 1}}]}")),
  file(
    "executors/secret.yaml",
    object("Executor", "s", "{type: awx, awx: {url: 'https://a.example', jobTemplate: j, tokenEnv: T}}"),
  ),
  file("broken.yaml", "a: [\n"),
  file("two.yaml", `${object("Fleet", "p", "{selector: {}, blueprint: base}")}---\n# nothing\n---\na: 1\n`),
  file("samples/agents/one.yaml", "name: one\nattributes: {host.name: one}\n"),
  file("samples/agents/bad.yaml", "name: bad\nattributs: {}\n"),
];
const OPTIONS: ValidateOptions = {
  components: { receivers: ["otlp"], processors: [], exporters: ["otlp"], connectors: [], extensions: [] },
  secrets: [],
};

/** As threads and a cache do it: in any order, some of it read long ago, every reading through a structured clone. */
function judgeApart(files: readonly RepositoryFile[], order: readonly number[], kept: Map<string, FileReading>) {
  const plan = planReading(files, DEFAULT_LIMITS);
  const readings = new Map<string, FileReading>();
  for (const index of order) {
    const task = plan.tasks[index];
    if (task === undefined) continue;
    readings.set(task.file, kept.get(task.file) ?? structuredClone(readFile(task)));
  }
  const all = plan.tasks.map(({ file: path }) => readings.get(path) as FileReading);
  for (const reading of all) kept.set(reading.file, reading);
  return judgeReadings(plan, all, OPTIONS);
}

test("the verdict is the same in any order of files, however they are read and whatever is kept", () => {
  const kept = new Map<string, FileReading>();
  const indexes = POOL.map((_, index) => index);
  fc.assert(
    fc.property(
      fc.shuffledSubarray(POOL, { minLength: 1 }),
      fc.shuffledSubarray(indexes, { minLength: POOL.length }),
      (files, order) => {
        const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
        const expected = validateRevision(sorted, DEFAULT_LIMITS, OPTIONS);
        expect(validateRevision(files, DEFAULT_LIMITS, OPTIONS)).toEqual(expected);
        expect(judgeApart(files, order, new Map())).toEqual(expected);
        expect(judgeApart(files, order, kept)).toEqual(expected);
      },
    ),
    { numRuns: 40 },
  );
});

test("places are the same, read at once or looked up again, also behind merges and aliases", () => {
  const text = object(
    "Fleet",
    "x",
    "\n  <<: &d {selector: {}, blueprint: nope}\n  priority: 1\n  parameters:\n    a: 1",
  );
  const { issues } = validateRevision([file("fleets/x.yaml", text)], DEFAULT_LIMITS);
  const places = issues.map(({ code, line, column }) => `${code} ${line}:${column}`);
  expect(places).toEqual(["no_sample_agent 5:11", "unknown_reference 5:36"]);
});

test("a verdict tells the sample agents, as plain data", () => {
  const { samples } = validateRevision(POOL, DEFAULT_LIMITS);
  expect(samples).toMatchObject([
    { name: "one", agent: { hostName: "one" }, file: "samples/agents/one.yaml", line: 1 },
  ]);
  expect(structuredClone(samples)).toEqual(samples);
});

test("keys that JavaScript knows go from thread to thread as what they are", () => {
  const [task] = planReading(
    POOL.filter(({ path }) => path.endsWith("blueprints/proto.yaml")),
    DEFAULT_LIMITS,
  ).tasks;
  if (task === undefined) throw new Error("the file is in the pool");
  const reading = structuredClone(readFile(task));
  expect(JSON.stringify(reading.objects)).toContain('"__proto__":{"a":1}');
  expect(JSON.stringify(reading)).toBe(JSON.stringify(readFile(task)));
});

describe("the components of a collector", () => {
  const list = (text: string) => {
    const parsed = parseComponentList(text);
    if (!parsed.ok) throw new Error(parsed.message);
    return parsed.list;
  };
  const PRINTED = `buildinfo:
    command: otelcol
    version: 0.162.0
receivers:
    - name: otlp
      module: go.opentelemetry.io/collector/receiver/otlpreceiver v0.162.0
      stability:
        logs: Stable
    - name: hostmetrics
      module: x
processors: []
exporters:
    - name: debug
      module: y
connectors:
extensions: []
providers:
    - scheme: env
`;

  test("are read as otelcol prints them, and as plain names", () => {
    const printed = {
      receivers: ["otlp", "hostmetrics"],
      processors: [],
      exporters: ["debug"],
      connectors: [],
      extensions: [],
    };
    expect(list(PRINTED)).toEqual(printed);
    expect(list("receivers: [otlp, hostmetrics]\nexporters: [debug]\n")).toEqual(printed);
  });

  test.each(["", "[]", "a: 1", "receivers: otlp", "receivers: [{module: x}]", "receivers: [1]", "a: [", "- receivers"])(
    "%j is no list, and the message says what is expected",
    (text) => {
      expect(parseComponentList(text)).toMatchObject({
        ok: false,
        message: expect.stringContaining("otelcol components"),
      });
    },
  );

  const repository = (blueprint: string): RepositoryFile[] => [
    file("blueprints/base.yaml", object("Blueprint", "base", `{config: ${config()}}`)),
    file("blueprints/x.yaml", object("Blueprint", "x", blueprint)),
    file("fleets/x.yaml", object("Fleet", "x", "{selector: {}, blueprint: x}")),
    file("fleets/y.yaml", object("Fleet", "y", "{selector: {}, priority: 1, blueprint: x}")),
    file("samples/agents/one.yaml", "name: one\n"),
  ];
  const judged = (blueprint: string) =>
    validateRevision(repository(blueprint), DEFAULT_LIMITS, { components: list(PRINTED) }).issues;

  test("that are not in the list are reported once, where the blueprint defines them, with what was meant", () => {
    const issues = judged("\n  extends: base\n  config:\n    receivers:\n      hostmetric/eu: {}");
    expect(issues).toMatchObject([
      { code: "invalid_config", name: "x", line: 8, column: 7, hint: "did you mean hostmetrics?" },
    ]);
  });

  test("in a fragment and behind a template are found too", () => {
    const fragment = judged("\n  extends: base\n  fragments:\n    - name: f\n      config: {processors: {btch: {}}}");
    expect(fragment).toMatchObject([
      { code: "invalid_config", line: 8, path: "spec.fragments[0].config.processors.btch" },
    ]);
    const templated = judged(
      `\n  extends: base\n  parameters: {all: {type: map, default: {odd: {}}}}\n  config:\n    extensions: "{{ parameters.all }}"`,
    );
    expect(templated).toMatchObject([{ code: "invalid_config", line: 8, path: "spec.config.extensions" }]);
  });

  test("that are in the list, with and without suffix, are no issue; without a list nothing is checked", () => {
    expect(judged("\n  extends: base\n  config: {receivers: {otlp/eu: {}}}")).toEqual([]);
    const odd = repository("\n  extends: base\n  config: {receivers: {odd: {}}}");
    expect(validateRevision(odd, DEFAULT_LIMITS).issues).toEqual([]);
  });
});

test("names of secrets are judged when the rules are known", () => {
  const executor = POOL.filter(({ path }) => path.startsWith("executors/"));
  expect(validateRevision(executor, DEFAULT_LIMITS).issues).toEqual([]);
  expect(validateRevision(executor, DEFAULT_LIMITS, { secrets: [] }).issues).toMatchObject([
    { code: "secret_not_allowed", severity: "warning" },
  ]);
});
