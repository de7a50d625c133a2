import { expect, test, describe } from "vitest";
import type { IssueCode } from "./issue-codes.ts";
import { DEFAULT_LIMITS, type Limits, type RepositoryFile } from "./repository-files.ts";
import { isBlocking, validateRevision } from "./validate.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const repo = (files: Record<string, string>): RepositoryFile[] =>
  Object.entries(files).map(([path, text]) => ({
    path,
    mode: "100644",
    size: bytes(text).length,
    bytes: bytes(text),
  }));

const object = (kind: string, name: string, spec: string): string =>
  `apiVersion: myriarch.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
const PIPELINE = "{metrics: {receivers: [otlp], exporters: [debug]}}";
const CONFIG = `{receivers: {otlp: {}}, exporters: {debug: {}}, service: {pipelines: ${PIPELINE}}}`;
const BASE: Record<string, string> = {
  "blueprints/base.yaml": object("Blueprint", "base", `{config: ${CONFIG}}`),
  "fleets/all.yaml": object("Fleet", "all", `{selector: {}, blueprint: base, version: {target: "0.162.0"}}`),
  "samples/agents/one.yaml": "name: one\nattributes: {host.name: one, os.type: linux}\n",
};
const validate = (files: Record<string, string>, limits: Partial<Limits> = {}) =>
  validateRevision(repo({ ...BASE, ...files }), { ...DEFAULT_LIMITS, ...limits });
const said = (files: Record<string, string>, limits: Partial<Limits> = {}) =>
  validate(files, limits).issues.map(({ code, file, line }) => `${code} ${file}:${line}`);

test("a valid revision has no issue and yields its objects with defaults and source", () => {
  const verdict = validate({});
  expect(verdict.issues).toEqual([]);
  expect(verdict.objects.map(({ kind, name, source }) => [kind, name, source])).toEqual([
    ["Blueprint", "base", { file: "blueprints/base.yaml", line: 1 }],
    ["Fleet", "all", { file: "fleets/all.yaml", line: 1 }],
  ]);
  expect(verdict.objects[1]?.spec).toMatchObject({ priority: 0, version: { distribution: "otelcol-contrib" } });
});

const fleet = (spec: string): Record<string, string> => ({ "fleets/x.yaml": object("Fleet", "x", spec) });
const blueprint = (spec: string): Record<string, string> => ({ "blueprints/x.yaml": object("Blueprint", "x", spec) });
const policy = (spec: string): Record<string, string> => ({ "policies/x.yaml": object("RolloutPolicy", "x", spec) });
const inventory = (spec: string): Record<string, string> => ({ "inventory/x.yaml": object("Inventory", "x", spec) });
const executor = (spec: string): Record<string, string> => ({ "executors/x.yaml": object("Executor", "x", spec) });
const config = (inner: string): Record<string, string> => blueprint(`{extends: base, config: ${inner}}`);
/** A fleet of higher priority that renders blueprint x for the sample. */
const rendered = (spec: string, more = ""): Record<string, string> => ({
  ...blueprint(spec),
  ...fleet(`{selector: {}, priority: 9, blueprint: x${more}}`),
});

type Case = [what: string, code: IssueCode, files: Record<string, string>, line?: number];
const CASES: Case[] = [
  // --- YAML
  ["bad indentation", "invalid_yaml", { "fleets/x.yaml": "kind: Fleet\n  spec: {}\n" }, 2],
  ["an unclosed list", "invalid_yaml", { "fleets/x.yaml": "a: [1,\nb: 2\n" }, 2],
  [
    "a duplicate key",
    "invalid_yaml",
    { "fleets/x.yaml": object("Fleet", "x", "{selector: {},\n  blueprint: base,\n  blueprint: other}") },
    6,
  ],
  [
    "a duplicate key behind quotes",
    "invalid_yaml",
    { "fleets/x.yaml": object("Fleet", "x", `{selector: {}, blueprint: base, "blueprint": base}`) },
    4,
  ],
  ["an unknown tag", "invalid_yaml", fleet("{selector: {}, blueprint: !ref base}")],
  ["a tag of YAML 1.1", "invalid_yaml", config("{a: !!binary aGk=}")],
  [
    "a YAML 1.1 directive",
    "invalid_yaml",
    { "fleets/x.yaml": `%YAML 1.1\n---\n${BASE["fleets/all.yaml"]?.replace("name: all", "name: x")}` },
    1,
  ],
  ["an alias without anchor", "invalid_yaml", fleet("{selector: {}, blueprint: *base}")],
  ["an alias that contains itself", "invalid_yaml", config("{a: &a [*a]}")],
  ["a merge of text", "invalid_yaml", fleet("{selector: {}, blueprint: base, <<: text}")],
  ["a key that is a list", "invalid_yaml", config("{? [a, b] : 1}")],
  ["nesting without end", "invalid_yaml", config(`{a: ${"[".repeat(200)}${"]".repeat(200)}}`)],
  ["a billion laughs", "alias_bomb", config(laughs())],
  ["an integer beyond 2^53", "invalid_value", config("{a: 9007199254740993}")],
  ["a number that is not finite", "invalid_value", config("{a: .inf}")],
  ["text with NUL", "invalid_value", config(`{a: "\\0"}`)],
  // --- envelope
  ["a document without kind", "missing_field", { "fleets/x.yaml": "{a: 1}\n" }, 1],
  ["a document that is a list", "missing_field", { "fleets/x.yaml": "- 1\n" }, 1],
  [
    "another API version",
    "invalid_api_version",
    { "fleets/x.yaml": "apiVersion: v1\nkind: Fleet\nmetadata: {name: x}\nspec: {selector: {}, blueprint: base}\n" },
    1,
  ],
  ["an unknown kind", "unknown_kind", { "fleets/x.yaml": object("Flet", "x", "{}") }, 2],
  [
    "an upper-case name",
    "invalid_name",
    { "fleets/x.yaml": object("Fleet", "X1", "{selector: {}, blueprint: base}") },
    3,
  ],
  [
    "a name of 64 characters",
    "invalid_name",
    { "fleets/x.yaml": object("Fleet", "a".repeat(64), "{selector: {}, blueprint: base}") },
    3,
  ],
  [
    "an unknown field of metadata",
    "unknown_field",
    {
      "fleets/x.yaml": object("Fleet", "x", "{selector: {}, blueprint: base}").replace(
        "{name: x}",
        "{name: x, lables: {}}",
      ),
    },
    3,
  ],
  [
    "an unknown top-level field",
    "unknown_field",
    { "fleets/x.yaml": `${object("Fleet", "x", "{selector: {}, blueprint: base}")}status: {}\n` },
    5,
  ],
  ["a spec that is empty", "missing_field", { "fleets/x.yaml": object("Fleet", "x", "") }, 4],
  // --- fields
  ["an unknown field of a spec", "unknown_field", fleet("{selector: {}, bluprint: base, blueprint: base}")],
  ["__proto__ in a spec", "unknown_field", fleet("{__proto__: {priority: 1}, selector: {}, blueprint: base}")],
  ["constructor in a spec", "unknown_field", fleet("{constructor: {}, selector: {}, blueprint: base}")],
  ["__proto__ among labels", "unknown_field", fleet("{selector: {matchLabels: {__proto__: x}}, blueprint: base}")],
  ["a missing selector", "missing_field", fleet("{blueprint: base}")],
  ["a selector left empty", "missing_field", fleet("{blueprint: base, selector: }")],
  ["a label that is not text", "invalid_value", fleet("{blueprint: base, selector: {matchLabels: {real: true}}}")],
  ["a priority in words", "invalid_value", fleet("{selector: {}, blueprint: base, priority: high}")],
  [
    "In without values",
    "invalid_selector",
    fleet("{blueprint: base, selector: {matchExpressions: [{key: a, operator: In}]}}"),
  ],
  [
    "Exists with values",
    "invalid_selector",
    fleet("{blueprint: base, selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}"),
  ],
  [
    "a version that YAML read as a number",
    "version_not_quoted",
    fleet("{selector: {}, blueprint: base, version: {target: 0.162}}"),
  ],
  ["a version with v", "invalid_value", fleet(`{selector: {}, blueprint: base, version: {target: "v0.162.0"}}`)],
  ["a version of two parts", "invalid_value", fleet(`{selector: {}, blueprint: base, version: {target: "0.162"}}`)],
  ["a version with neither target nor choice", "missing_field", fleet("{selector: {}, blueprint: base, version: {}}")],
  [
    "a default outside of the range",
    "invalid_value",
    fleet(`{selector: {}, blueprint: base, version: {choice: {range: "<0.161.0", default: "0.162.0"}}}`),
  ],
  [
    "both range and list",
    "invalid_value",
    fleet(`{selector: {}, blueprint: base, version: {choice: {range: "*", list: ["0.162.0"], default: "0.162.0"}}}`),
  ],
  ["a duration without unit", "invalid_value", policy(`{healthWait: "90"}`)],
  ["a share over 100%", "invalid_value", policy(`{maxConcurrent: "120%"}`)],
  ["a cap of nothing", "invalid_value", policy("{maxConcurrent: 0}")],
  ["a wave without size", "missing_field", policy("{waves: [{name: a}]}")],
  ["two waves of one name", "invalid_value", policy("{waves: [{name: a, upTo: 1}, {name: a, upTo: 2}]}")],
  ...["Europe/Berlim", "", "CEST", "+03:00"].map((zone): Case => [
    `the zone "${zone}"`,
    "invalid_value",
    policy(`{maintenanceWindows: [{days: [mon], start: "22:00", end: "04:00", timezone: "${zone}"}]}`),
  ]),
  [
    "a window that starts when it ends",
    "invalid_value",
    policy(`{maintenanceWindows: [{days: [mon], start: "22:00", end: "22:00", timezone: UTC}]}`),
  ],
  [
    "windows in which no target fits",
    "invalid_value",
    policy(
      `{healthWait: 1h, finishInWindow: true, maintenanceWindows: [{days: [mon], start: "22:00", end: "22:30", timezone: UTC}]}`,
    ),
  ],
  ["an awx executor without its section", "missing_field", executor("{type: awx}")],
  [
    "an executor URL with a password",
    "invalid_value",
    executor("{type: webhook, webhook: {url: 'https://a:b@x/', secretEnv: X}}"),
  ],
  // --- between objects
  [
    "the same object twice",
    "duplicate_object",
    { "fleets/b.yaml": object("Fleet", "all", "{selector: {}, blueprint: base}") },
    3,
  ],
  ["a host in two entries", "duplicate_entry", inventory("{entries: [{host: WEB-01}, {host: web-01}]}")],
  ["a blueprint that does not exist", "unknown_reference", fleet("{selector: {}, blueprint: bas}")],
  ["a policy that does not exist", "unknown_reference", fleet("{selector: {}, blueprint: base, rolloutPolicy: slow}")],
  [
    "an executor that does not exist",
    "unknown_reference",
    fleet("{selector: {}, blueprint: base, update: {executor: tower}}"),
  ],
  ["a parent that does not exist", "unknown_reference", blueprint(`{extends: nobody, config: ${CONFIG}}`)],
  ["a blueprint that extends itself", "extends_cycle", blueprint(`{extends: x, config: ${CONFIG}}`)],
  ["a chain of nine", "extends_cycle", chainOfNine()],
  // --- parameters
  ["a parameter nobody declared", "unknown_parameter", fleet("{selector: {}, blueprint: base, parameters: {port: 1}}")],
  [
    "an inventory parameter nobody knows",
    "unknown_parameter",
    inventory("{entries: [{host: a, parameters: {prot: 1}}]}"),
  ],
  [
    "a template that reads an undeclared parameter",
    "unknown_parameter",
    config(`{exporters: {debug: {a: "{{ parameters.port }}"}}}`),
  ],
  [
    "a required parameter that is not set",
    "missing_parameter",
    rendered(`{extends: base, parameters: {port: {type: integer, required: true}}}`),
  ],
  [
    "a parameter of the wrong type",
    "invalid_value",
    rendered(`{extends: base, parameters: {port: {type: integer}}}`, `, parameters: {port: "1"}`),
  ],
  [
    "a parameter outside of its bounds",
    "invalid_value",
    rendered(`{extends: base, parameters: {port: {type: integer, maximum: 9}}}`, `, parameters: {port: 10}`),
  ],
  [
    "a default that does not fit",
    "invalid_value",
    blueprint(`{extends: base, parameters: {port: {type: integer, default: x}}}`),
  ],
  [
    "a pattern that is none",
    "invalid_value",
    blueprint(`{extends: base, parameters: {a: {type: string, pattern: "("}}}`),
  ],
  // --- templates and configuration
  ["an unclosed template", "template_error", config(`{exporters: {debug: {a: "{{ version"}}}`)],
  ["an unknown filter", "template_error", config(`{exporters: {debug: {a: "{{ version | shout }}"}}}`)],
  ["a template that asks the clock", "template_error", config(`{exporters: {debug: {a: "{{ 'now' | date: '%s' }}"}}}`)],
  ["an include", "template_error", config(`{exporters: {debug: {a: "{% include 'x' %}"}}}`)],
  ["an unknown variable", "template_error", config(`{exporters: {debug: {a: "{{ agnet.hostName }}"}}}`)],
  [
    "a map inside a text",
    "template_error",
    rendered(`{extends: base, config: {exporters: {debug: {a: "x {{ fleet.labels }}"}}}}`),
  ],
  [
    "an attribute that the sample lacks",
    "template_error",
    rendered(`{extends: base, config: {exporters: {debug: {a: "{{ agent.attributes.zone }}"}}}}`),
  ],
  ["a configuration that renders empty", "invalid_config", rendered("{}")],
  [
    "a pipeline with an undefined component",
    "invalid_config",
    rendered(`{extends: base, config: {service: {pipelines: {metrics: {processors: [batch]}}}}}`),
  ],
  [
    "a pipeline without receivers",
    "invalid_config",
    rendered(`{extends: base, config: {service: {pipelines: {metrics: {receivers: []}}}}}`),
  ],
  [
    "a connector used on one side",
    "invalid_config",
    rendered(
      `{extends: base, config: {connectors: {count: {}}, service: {pipelines: {metrics: {exporters: [count]}}}}}`,
    ),
  ],
  // --- warnings
  ["two fleets of one priority", "ambiguous_fleet", fleet("{selector: {}, blueprint: base}")],
  ["a fleet without sample", "no_sample_agent", fleet("{selector: {matchLabels: {a: b}}, blueprint: base}")],
  ["a password in plain text", "plaintext_secret", config("{exporters: {debug: {password: hunter2}}}")],
  // --- samples
  ["a sample with an unknown field", "unknown_field", { "samples/agents/x.yaml": "name: x\nattribute: {}\n" }, 2],
];

function laughs(): string {
  const lists = Array.from({ length: 9 }, (_, k) => `l${k + 1}: &l${k + 1} [${Array(9).fill(`*l${k}`).join(", ")}]`);
  return `{l0: &l0 ha, ${lists.join(", ")}}`;
}
function chainOfNine(): Record<string, string> {
  const links = Array.from({ length: 9 }, (_, k) =>
    object("Blueprint", `c${k}`, k === 8 ? `{config: ${CONFIG}}` : `{extends: c${k + 1}}`),
  );
  return { "blueprints/chain.yaml": links.join("---\n") };
}

describe("each way to be wrong is reported with its code and place", () => {
  test.each(CASES)("%s", (_, code, files, line = 4) => {
    const { issues } = validate(files);
    const [issue] = issues.filter((it) => it.code === code);
    const places = Object.keys(files).map((file) => `${file}:${line}`);
    expect(places, JSON.stringify(issues)).toContain(`${issue?.file}:${issue?.line}`);
  });

  test("one mistake is one issue: nothing else is reported for the errors of single objects", () => {
    const alone = CASES.filter(([, code]) =>
      [
        "unknown_reference",
        "unknown_field",
        "invalid_name",
        "version_not_quoted",
        "invalid_yaml",
        "template_error",
        "unknown_parameter",
      ].includes(code),
    );
    for (const [what, code, files] of alone) {
      const errors = validate(files).issues.filter(isBlocking);
      expect(new Set(errors.map((issue) => issue.code)), what).toEqual(new Set([code]));
    }
  });
});

test("a file that is not UTF-8 is invalid YAML", () => {
  const file = { path: "fleets/x.yaml", mode: "100644", size: 2, bytes: Uint8Array.of(0xc3, 0x28) };
  const { issues } = validateRevision([...repo(BASE), file], DEFAULT_LIMITS);
  expect(issues).toMatchObject([{ code: "invalid_yaml", file: "fleets/x.yaml", line: 1 }]);
});

test("every issue of a revision is reported at once, sorted by file and line", () => {
  const issues = said({
    "fleets/a.yaml": object("Fleet", "a", "{selector: {}, blueprint: nope,\n  priorty: 1}"),
    "fleets/b.yaml": "a: [\n",
    "blueprints/c.yaml": object("Blueprint", "c", `{config: {a: "{{ oops }}", b: 9007199254740993}}`),
  });
  expect(issues).toEqual([
    "invalid_value blueprints/c.yaml:4",
    "unknown_field fleets/a.yaml:5",
    "invalid_yaml fleets/b.yaml:2",
  ]);
});

test("a hint says what was probably meant", () => {
  const { issues } = validate(fleet("{selector: {}, blueprnt: base}"));
  expect(issues.find(({ code }) => code === "unknown_field")?.hint).toBe("did you mean blueprint?");
  const misspelt = validate(fleet("{selector: {}, blueprint: bse}")).issues;
  expect(misspelt.find(({ code }) => code === "unknown_reference")?.hint).toBe("did you mean base?");
});

describe("what YAML allows", () => {
  const accepted: [string, string][] = [
    [
      "merge keys, explicit keys win",
      "{<<: &b {priority: 1, blueprint: nope}, selector: {}, priority: 5, blueprint: base}",
    ],
    ["a list of merges, the first wins", "{<<: [{priority: 5}, {priority: 1, blueprint: base}], selector: {}}"],
    ["two merges, the first wins", "{<<: {priority: 5}, <<: {priority: 1, blueprint: base}, selector: {}}"],
    ["core-schema tags", `{selector: {}, blueprint: !!str base, priority: !!int "5"}`],
  ];
  test.each(accepted)("%s", (_, spec) => {
    const verdict = validate(fleet(spec));
    expect(verdict.issues.filter(isBlocking)).toEqual([]);
    expect(verdict.objects.find(({ name }) => name === "x")?.spec).toMatchObject({ priority: 5, blueprint: "base" });
  });

  test("empty and comment-only documents are ignored, several objects may share a file", () => {
    const two = `---\n# nothing\n---\n${object("Fleet", "p", "{selector: {}, priority: 1, blueprint: base}")}---\n${object("Fleet", "q", "{selector: {}, priority: 2, blueprint: base}")}---\n`;
    const verdict = validate({ "fleets/two.yaml": two });
    expect(verdict.issues).toEqual([]);
    expect(verdict.objects.map(({ name, source }) => `${name}:${source.line}`)).toEqual([
      "base:1",
      "all:1",
      "p:4",
      "q:9",
    ]);
  });

  test("a thousand honest aliases are fine", () => {
    const many = `{a: &a {x: 1}, b: [${Array(1200).fill("*a").join(", ")}]}`;
    expect(validate(config(`{exporters: {debug: ${many}}}`)).issues.filter(isBlocking)).toEqual([]);
  });

  test("__proto__ and constructor are ordinary keys of free-form areas and pollute nothing", () => {
    const verdict = validate(
      config("{exporters: {debug: {__proto__: {polluted: 1}, constructor: {prototype: {polluted: 1}}}}}"),
    );
    expect(verdict.issues.filter(isBlocking)).toEqual([]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect(JSON.stringify(verdict.objects.find(({ name }) => name === "x")?.spec)).toContain(
      '"__proto__":{"polluted":1}',
    );
  });

  test("a blueprint and a fleet may share a name", () => {
    expect(said({ "blueprints/all.yaml": object("Blueprint", "all", `{config: ${CONFIG}}`) })).toEqual([]);
  });
});

describe("which files are read", () => {
  const broken = "a: [\n";
  const ignored = [
    ".github/x.yaml",
    "fleets/.hidden.yaml",
    "samples/notes.yaml",
    "samples/agents/deep/x.yaml",
    "README.md",
    "fleets/x.yaml.bak",
    "samples/x/y.yaml",
  ];
  test.each(ignored)("%s is not", (path) => {
    expect(said({ [path]: broken })).toEqual([]);
  });
  test.each(["x.yml", "fleets/eu/de/x.yaml", "other/samples/x.yaml", "samples/agents/x.yml"])("%s is", (path) => {
    expect(said({ [path]: broken })).toEqual([`invalid_yaml ${path}:2`]);
  });
  test.each([
    ["120000", "a symbolic link"],
    ["160000", "a submodule"],
  ])("mode %s is refused wherever it is: %s", (mode, message) => {
    for (const path of ["fleets/x.yaml", ".github/x", "samples/x"]) {
      const { issues } = validateRevision([...repo(BASE), { path, mode, size: 1 }], DEFAULT_LIMITS);
      expect(issues).toMatchObject([{ code: "not_regular_file", file: path, message }]);
    }
  });
  test("limits of size and number are errors of their own", () => {
    expect(said({}, { maxFileBytes: 100 }).map((it) => it.split(" ")[0])).toContain("file_too_large");
    expect(said({}, { maxFiles: 2 })).toEqual(["too_many_files :1"]);
    expect(said({}, { maxYamlBytes: 100 })).toEqual(["repository_too_large :1"]);
  });
  test("issues name the path in the repository, also below gitops.path", () => {
    expect(said({ "fleets/x.yaml": broken }, { base: "deploy/otel" })).toEqual([
      "invalid_yaml deploy/otel/fleets/x.yaml:2",
    ]);
  });
});
