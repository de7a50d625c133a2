/**
 * Cases A5 and B1 to B9 as kinds, the YAML rules of the decisions, and unusual YAML that is right: refusing what is valid is
 * worse for users than the opposite.
 */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { parseDocument } from "yaml";
import { identifier } from "../fleet/assign.ts";
import { renderConfig } from "../fleet/render.ts";
import { object, repositoryOf } from "./bad/repository.ts";
import { compareObjects } from "./change.ts";
import { DEFAULT_LIMITS } from "./repository-files.ts";
import { findObject } from "./snapshot.ts";
import { isBlocking, validateRevision, type Verdict } from "./validate.ts";

type Files = Record<string, string | Uint8Array>;
const validate = (files: Files): Verdict => validateRevision(repositoryOf(files), DEFAULT_LIMITS);
const fleet = (spec: string): Files => ({ "fleets/x.yaml": object("Fleet", "x", spec) });
const said = (verdict: Verdict): string[] =>
  verdict.issues.filter(isBlocking).map(({ code, line, path }) => `${code} ${line} ${path}`);
const specOf = (verdict: Verdict): unknown => verdict.objects.find(({ name }) => name === "x")?.spec;
const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

/** A blueprint x whose exporter `debug` has the settings `text`, in lines 11 and following; it is rendered. */
const settings = (text: string): Files => ({
  "blueprints/x.yaml": object(
    "Blueprint",
    "x",
    `extends: base\nconfig:\n  exporters:\n    debug:\n${text.replace(/^(?=.)/gm, "      ")}\n`,
  ),
  "fleets/f.yaml": object("Fleet", "f", "selector: {}\nblueprint: x\n"),
});

/** The bytes that fleet f gives to the sample agent. */
function rendered({ objects, samples }: Verdict): string {
  const snapshot = { objects };
  const [fleetF, agent] = [findObject(snapshot, "Fleet", "f"), samples[0]?.agent];
  if (fleetF === undefined || agent === undefined) return "nothing";
  const outcome = renderConfig(snapshot, fleetF, agent, "0.162.0", sha256, identifier(snapshot, [agent])(agent));
  return outcome.ok ? new TextDecoder().decode(outcome.bytes) : outcome.message;
}
const debugOf = (verdict: Verdict): unknown => {
  const text = rendered(verdict);
  return parseDocument(text).getIn(["exporters", "debug"], true);
};
/** The settings of the exporter as any YAML reader sees them, maps as `Map` so that keys keep their type. */
const read = (text: string): unknown => {
  const verdict = validate(settings(text));
  expect(said(verdict)).toEqual([]);
  return (debugOf(verdict) as { toJS: (doc: unknown, options: object) => unknown }).toJS(parseDocument(""), {
    mapAsMap: true,
  });
};
const map = (...entries: [unknown, unknown][]): Map<unknown, unknown> => new Map(entries);

describe("A5: an object is its kind and name", () => {
  const before = validate(fleet("selector: {}\npriority: 5\nblueprint: base\n")).objects;
  const same: [string, Files][] = [
    ["in another file", { "fleets/eu/y.yml": object("Fleet", "x", "selector: {}\npriority: 5\nblueprint: base\n") }],
    ["with its fields in another order", fleet("blueprint: base\npriority: 5\nselector: {}\n")],
    ["in another style, with comments", fleet('# five\nselector:\n  {}\n"priority": 0x5\nblueprint: "base"\n')],
    [
      "behind another one",
      {
        "fleets/all.yaml": `${object("Fleet", "all", 'selector: {}\npriority: -1\nblueprint: base\nversion: {target: "0.162.0"}\n')}---\n${object("Fleet", "x", "selector: {}\npriority: 5\nblueprint: base\n")}`,
      },
    ],
    ["with a default written down", fleet("selector: {}\npriority: 5\nblueprint: base\nparameters: {}\n")],
  ];
  test.each(same)("%s it is the same", (_, files) => {
    expect(compareObjects(before, validate(files).objects)).toEqual({ added: [], changed: [], removed: [] });
  });
  test("renaming it removes and adds; a change of one field changes", () => {
    const renamed = { "fleets/x.yaml": object("Fleet", "y", "selector: {}\npriority: 5\nblueprint: base\n") };
    expect(compareObjects(before, validate(renamed).objects)).toEqual({
      added: ["Fleet/y"],
      changed: [],
      removed: ["Fleet/x"],
    });
    const changed = fleet("selector: {}\npriority: 6\nblueprint: base\n");
    expect(compareObjects(before, validate(changed).objects)).toEqual({ added: [], changed: ["Fleet/x"], removed: [] });
  });
});

describe("B1: merge keys", () => {
  const inStrict: [string, string, object][] = [
    [
      "explicit keys win, before or after",
      "priority: 5\n<<: {priority: 1, blueprint: base}\nselector: {}\n",
      { priority: 5 },
    ],
    [
      "the first of a list wins",
      "<<: [{priority: 5}, {priority: 1, blueprint: base}]\nselector: {}\n",
      { priority: 5 },
    ],
    ["the first of two wins", "<<: {priority: 5}\n<<: {priority: 1, blueprint: base}\nselector: {}\n", { priority: 5 }],
    [
      "nested",
      "selector: {<<: &s {matchLabels: {<<: {os.type: linux}, host.name: one}}}\nblueprint: base\n",
      { selector: { matchLabels: { "os.type": "linux", "host.name": "one" } } },
    ],
    [
      "of what merges itself",
      "parameters: {<<: [{<<: {port: 1}}, {port: 2}]}\nselector: {}\nblueprint: base\n",
      { parameters: { port: 1 } },
    ],
    ["of an empty map and an empty list", "<<: {}\n<<: []\nselector: {}\nblueprint: base\n", { priority: 0 }],
    [
      "inside items of a list",
      "selector: {matchExpressions: [{<<: {key: os.type}, operator: Exists}]}\nblueprint: base\n",
      { selector: { matchExpressions: [{ key: "os.type", operator: "Exists" }] } },
    ],
  ];
  test.each(inStrict)("%s", (_, spec, expected) => {
    const verdict = validate(fleet(spec));
    expect(said(verdict)).toEqual([]);
    expect(specOf(verdict)).toMatchObject(expected);
  });

  test("in free-form areas, by alias", () => {
    expect(
      read("base: &base {a: 1, b: {c: 1}}\nmore: &more {b: 2, d: 3}\nall: [{<<: [*more, *base], e: 4}, *base]"),
    ).toEqual(
      map(
        ["all", [map(["a", 1], ["b", 2], ["d", 3], ["e", 4]), map(["a", 1], ["b", map(["c", 1])])]],
        ["base", map(["a", 1], ["b", map(["c", 1])])],
        ["more", map(["b", 2], ["d", 3])],
      ),
    );
  });

  test("in metadata, in samples, across the envelope", () => {
    const verdict = validate({
      "fleets/x.yaml":
        "<<: {apiVersion: myriarch.dev/v1alpha1}\nkind: Fleet\nmetadata: {<<: {labels: {a: b}}, name: x}\nspec: {selector: {}, priority: 1, blueprint: base}\n",
      "samples/agents/x.yaml": "name: x\nattributes: {<<: {os.type: linux}}\n",
    });
    expect(said(verdict)).toEqual([]);
  });

  test("a quoted << is an ordinary key", () => {
    expect(read('"<<": {a: 1}')).toEqual(map(["<<", map(["a", 1])]));
    expect(said(validate(fleet('"<<": {priority: 1}\nselector: {}\nblueprint: base\n')))).toEqual([
      "unknown_field 6 spec.<<",
    ]);
  });

  test("what a merge brings in is judged where it is written", () => {
    const verdict = validate(fleet("parameters: &p\n  port: 1\nselector: {}\nblueprint: base\nupdate:\n  <<: *p\n"));
    expect(said(verdict)).toEqual(["unknown_field 7 spec.update.port"]);
  });
});

describe("B3: a key twice is invalid_yaml at the second one, at each depth and in each spelling", () => {
  const twice: [string, Files, string][] = [
    [
      "of the envelope",
      { "fleets/x.yaml": `kind: Fleet\n${object("Fleet", "x", "selector: {}\nblueprint: base\n")}` },
      "invalid_yaml 3 kind",
    ],
    [
      "of metadata",
      { "fleets/x.yaml": object("Fleet", "x\n  name: y", "selector: {}\nblueprint: base\n") },
      "invalid_yaml 5 metadata.name",
    ],
    ["of a spec", fleet("blueprint: base\nselector: {}\nblueprint: base\n"), "invalid_yaml 8 spec.blueprint"],
    ["plain and quoted", fleet("blueprint: base\nselector: {}\n'blueprint': base\n"), "invalid_yaml 8 spec.blueprint"],
    ["escaped", fleet('blueprint: base\nselector: {}\n"blu\\x65print": base\n'), "invalid_yaml 8 spec.blueprint"],
    ["explicit", fleet("blueprint: base\nselector: {}\n? blueprint\n: base\n"), "invalid_yaml 8 spec.blueprint"],
    [
      "in a flow map",
      fleet("blueprint: base\nselector: {matchLabels: {a: b, a: c}}\n"),
      "invalid_yaml 7 spec.selector.matchLabels.a",
    ],
    [
      "in a list's item",
      settings("list:\n  - a: 1\n    a: 2"),
      "invalid_yaml 12 spec.config.exporters.debug.list[0].a",
    ],
    ["of numbers", settings("1: a\n0x1: b"), "invalid_yaml 11 spec.config.exporters.debug.1"],
    ["of nulls", settings("~: a\nnull: b"), "invalid_yaml 11 spec.config.exporters.debug.null"],
    ["of booleans", settings("true: a\nTRUE: b"), "invalid_yaml 11 spec.config.exporters.debug.true"],
    ["__proto__", settings("__proto__: a\n__proto__: b"), "invalid_yaml 11 spec.config.exporters.debug.__proto__"],
    ["of a merged map", settings("a: &a {b: 1, b: 2}\nc: {<<: *a}"), "invalid_yaml 10 spec.config.exporters.debug.a.b"],
  ];
  test.each(twice)("%s", (_, files, expected) => {
    expect(said(validate(files))).toEqual([expected]);
  });
  test("a number and its text are two keys", () => {
    expect(read('22: a\n"22": b')).toEqual(map(["22", "b"], [22, "a"]));
  });
});

const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty"];
const whole = (kind: string, spec: string): Files => ({ "x.yaml": object(kind, "x", spec) });

describe("B5: names that every object has by itself are unknown fields", () => {
  const places: [string, (field: string) => Files][] = [
    [
      "the envelope",
      (field) => ({ "x.yaml": `${object("Fleet", "x", "selector: {}\npriority: 1\nblueprint: base\n")}${field}\n` }),
    ],
    [
      "metadata",
      (field) => ({ "x.yaml": object("Fleet", `x\n  ${field}`, "selector: {}\npriority: 1\nblueprint: base\n") }),
    ],
    ["Fleet", (field) => whole("Fleet", `selector: {}\nblueprint: base\n${field}\n`)],
    ["selector", (field) => whole("Fleet", `selector: {${field}}\nblueprint: base\n`)],
    [
      "matchExpressions",
      (field) =>
        whole("Fleet", `selector: {matchExpressions: [{key: a, operator: Exists, ${field}}]}\nblueprint: base\n`),
    ],
    ["version", (field) => whole("Fleet", `selector: {}\nblueprint: base\nversion: {target: "0.162.0", ${field}}\n`)],
    [
      "choice",
      (field) =>
        whole(
          "Fleet",
          `selector: {}\nblueprint: base\nversion: {choice: {list: ["0.162.0"], default: "0.162.0", ${field}}}\n`,
        ),
    ],
    ["update", (field) => whole("Fleet", `selector: {}\nblueprint: base\nupdate: {${field}}\n`)],
    ["Blueprint", (field) => whole("Blueprint", `extends: base\n${field}\n`)],
    ["a declaration", (field) => whole("Blueprint", `extends: base\nparameters: {a: {type: string, ${field}}}\n`)],
    ["a fragment", (field) => whole("Blueprint", `extends: base\nfragments: [{name: a, config: {}, ${field}}]\n`)],
    ["RolloutPolicy", (field) => whole("RolloutPolicy", `${field}\n`)],
    ["a wave", (field) => whole("RolloutPolicy", `waves: [{name: a, upTo: 1, ${field}}]\n`)],
    ["a wave's selector", (field) => whole("RolloutPolicy", `waves: [{name: a, selector: {${field}}}]\n`)],
    [
      "a window",
      (field) =>
        whole(
          "RolloutPolicy",
          `maintenanceWindows: [{days: [mon], start: "22:00", end: "23:00", timezone: UTC, ${field}}]\n`,
        ),
    ],
    ["offline", (field) => whole("RolloutPolicy", `offline: {${field}}\n`)],
    ["failureThreshold", (field) => whole("RolloutPolicy", `failureThreshold: {${field}}\n`)],
    ["Executor", (field) => whole("Executor", `type: updater\n${field}\n`)],
    [
      "awx",
      (field) =>
        whole("Executor", `type: awx\nawx: {url: https://a.example.com, jobTemplate: 1, tokenEnv: T, ${field}}\n`),
    ],
    [
      "webhook",
      (field) => whole("Executor", `type: webhook\nwebhook: {url: https://a.example.com, secretEnv: T, ${field}}\n`),
    ],
    ["Inventory", (field) => whole("Inventory", `${field}\n`)],
    ["an entry", (field) => whole("Inventory", `entries: [{host: a, ${field}}]\n`)],
    ["a sample", (field) => ({ "samples/agents/x.yaml": `name: x\n${field}\n` })],
  ];
  test.each(places)("in %s", (_, files) => {
    for (const name of NAMES) {
      const issues = validate(files(`${name}: {priority: 1}`)).issues.filter(isBlocking);
      expect(
        issues.map(({ code, path }) => `${code} ${path.split(".").at(-1)}`),
        name,
      ).toEqual([`unknown_field ${name}`]);
    }
    expect(({} as { priority?: number }).priority).toBeUndefined();
  });

  const free: [string, (text: string) => Files][] = [
    ["config", (text) => settings(text)],
    [
      "the config of a fragment",
      (text) =>
        whole("Blueprint", `extends: base\nfragments:\n  - {name: a, config: {a: {${text.replaceAll("\n", ", ")}}}}\n`),
    ],
    [
      "parameters of a fleet",
      (text) => ({
        ...whole("Fleet", `selector: {}\nblueprint: p\nparameters: {a: {${text.replaceAll("\n", ", ")}}}\n`),
        "p.yaml": object("Blueprint", "p", "extends: base\nparameters: {a: {type: map}}\n"),
      }),
    ],
    [
      "params of an update",
      (text) => whole("Fleet", `selector: {}\nblueprint: base\nupdate: {params: {${text.replaceAll("\n", ", ")}}}\n`),
    ],
    [
      "parameters of an entry",
      (text) => ({
        ...whole("Inventory", `entries: [{host: a, parameters: {a: {${text.replaceAll("\n", ", ")}}}}]\n`),
        "p.yaml": object("Blueprint", "p", "extends: base\nparameters: {a: {type: map}}\n"),
      }),
    ],
    [
      "extraVars",
      (text) =>
        whole(
          "Executor",
          `type: awx\nawx: {url: https://a.example.com, jobTemplate: 1, tokenEnv: T, extraVars: {${text.replaceAll("\n", ", ")}}}\n`,
        ),
    ],
  ];
  test.each(free)("they are ordinary keys in %s, and pollute nothing", (_, files) => {
    const verdict = validate(files(NAMES.map((name) => `${name}: {polluted: 1}`).join("\n")));
    expect(said(verdict)).toEqual([]);
    const text = JSON.stringify(verdict.objects);
    for (const name of NAMES) expect(text).toContain(`"${name}":{"polluted":1}`);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect((() => undefined) as { polluted?: number }).not.toHaveProperty("polluted");
  });

  test("they are rendered as they are, and can name parameters and labels", () => {
    expect(read(NAMES.map((name) => `${name}: 1`).join("\n"))).toEqual(
      map(...NAMES.toSorted().map((name): [string, number] => [name, 1])),
    );
    const verdict = validate({
      "blueprints/x.yaml": object(
        "Blueprint",
        "x",
        'extends: base\nparameters: {constructor: {type: string, default: a}, toString: {type: string}}\nconfig: {exporters: {debug: {a: "{{ parameters.constructor }}{{ fleet.labels.hasOwnProperty }}", b: "{{ parameters.toString }}"}}}\n',
      ),
      "fleets/f.yaml": object(
        "Fleet",
        "f\n  labels: {hasOwnProperty: c}",
        "selector: {matchExpressions: [{key: constructor, operator: DoesNotExist}]}\nblueprint: x\nparameters: {toString: b}\n",
      ),
    });
    expect(said(verdict)).toEqual([]);
    expect(rendered(verdict)).toContain("a: ac\n    b: b\n");
    const unset = validate({
      "blueprints/x.yaml": object(
        "Blueprint",
        "x",
        'extends: base\nconfig: {exporters: {debug: {a: "{{ parameters.toString }}"}}}\n',
      ),
    });
    expect(said(unset)).toEqual(["unknown_parameter 7 spec.config.exporters.debug.a"]);
  });
});

describe("B7: keys that are no text stay what they are", () => {
  const keys: [string, unknown][] = [
    ["22", 22],
    ["-1", -1],
    ["0x1F", 31],
    ["0o17", 15],
    ["1.5", 1.5],
    ["1e3", 1000],
    ["true", true],
    ["False", false],
    ["null", null],
    ["~", null],
    // by the core schema of YAML 1.2 these are text
    ["2026-01-01", "2026-01-01"],
    ["12:30", "12:30"],
    ["1_000", "1_000"],
    ["0b1", "0b1"],
    ["yes", "yes"],
    ["off", "off"],
    ["012", 12],
    ["''", ""],
    ["'22'", "22"],
  ];
  test.each(keys)("%s", (text, key) => {
    const files = settings(`mapping: {${text}: ssh}`);
    const [one, two] = [validate(files), validate(files)];
    expect(said(one)).toEqual([]);
    expect(rendered(one)).toBe(rendered(two));
    expect(read(`mapping: {${text}: ssh}`)).toEqual(map(["mapping", map([key, "ssh"])]));
  });
  test("as parameters and through templates, too", () => {
    const verdict = validate({
      "blueprints/x.yaml": object(
        "Blueprint",
        "x",
        'extends: base\nparameters: {ports: {type: map, default: {22: ssh, true: yes}}}\nconfig: {exporters: {debug: {all: "{{ parameters.ports }}", one: "{{ parameters.ports[\'22\'] }}"}}}\n',
      ),
      "fleets/f.yaml": object("Fleet", "f", "selector: {}\nblueprint: x\n"),
    });
    expect(said(verdict)).toEqual([]);
    expect(rendered(verdict)).toContain("22: ssh");
    expect(rendered(verdict)).toContain("one: ssh");
  });
  const refused = ["? [a]\n: 1", "? {a: b}\n: 1", "? 9007199254740993\n: 1", "? .nan\n: 1"];
  test.each(refused)("%j is refused clearly", (text) => {
    expect(validate(settings(text)).issues.filter(isBlocking)).toMatchObject([
      { code: expect.stringMatching(/^invalid_(yaml|value)$/) as string, line: 10 },
    ]);
  });
});

describe("B9: documents", () => {
  const x = object("Fleet", "x", "selector: {}\npriority: 1\nblueprint: base\n");
  const y = x.replace("name: x", "name: y").replace("priority: 1", "priority: 2");
  const layouts: [string, string, string[]][] = [
    ["a leading ---", `---\n${x}`, ["x"]],
    ["a trailing ---", `${x}---\n`, ["x"]],
    ["several ---", `---\n---\n---\n${x}---\n---\n`, ["x"]],
    ["a document's end", `${x}...\n`, ["x"]],
    ["an end and a beginning", `${x}...\n---\n${y}...\n`, ["x", "y"]],
    ["a comment-only document", `# head\n---\n# only this\n---\n${x}---\n  # and this\n`, ["x"]],
    ["a document that is null", `--- ~\n---\n${x}--- null\n`, ["x"]],
    ["a comment behind ---", `--- # the first\n${x}--- # the second\n${y}`, ["x", "y"]],
    ["no line break at the end", x.trimEnd(), ["x"]],
    ["blank lines everywhere", `\n\n${x.replaceAll("\n", "\n\n")}\n\n`, ["x"]],
    ["a byte order mark", `\ufeff${x}`, ["x"]],
    ["a byte order mark before ---", `\ufeff---\n${x}`, ["x"]],
    ["line ends of Windows", `${x}---\n${y}`.replaceAll("\n", "\r\n"), ["x", "y"]],
    ["a directive for YAML 1.2", `%YAML 1.2\n---\n${x}`, ["x"]],
    [
      "the object in the line of ---",
      `--- {apiVersion: myriarch.dev/v1alpha1, kind: Fleet, metadata: {name: x}, spec: {selector: {}, priority: 1, blueprint: base}}\n`,
      ["x"],
    ],
    [
      "JSON",
      JSON.stringify(
        {
          apiVersion: "myriarch.dev/v1alpha1",
          kind: "Fleet",
          metadata: { name: "x" },
          spec: { selector: {}, priority: 1, blueprint: "base" },
        },
        null,
        "\t",
      ),
      ["x"],
    ],
    ["an empty file", "", []],
    ["a file of blanks", " \n\n  \n", []],
    ["a file of comments", "# a\n   # b\n", []],
    ["a file of markers", "---\n---\n...\n", []],
  ];
  test.each(layouts)("%s", (_, text, names) => {
    const verdict = validate({ "fleets/x.yaml": text, "fleets/z.yaml": "# nothing\n" });
    expect(said(verdict)).toEqual([]);
    expect(verdict.objects.map(({ name }) => name).filter((name) => /^[xyz]$/.test(name))).toEqual(names);
  });
  test("a document without the envelope names file, line and what is missing", () => {
    expect(said(validate({ "fleets/x.yaml": `${x}---\n# here\n{a: 1}\n` }))).toEqual([
      "missing_field 11 apiVersion",
      "missing_field 11 kind",
      "missing_field 11 metadata",
      "missing_field 11 spec",
      "unknown_field 11 a",
    ]);
  });
  test("one bad document of several: nothing of the revision applies, the others are still judged", () => {
    const verdict = validate({ "fleets/x.yaml": `${x}---\na: {b: 1, b: 2}\n---\n${y.replace("priority", "priorty")}` });
    expect(verdict.issues.filter(isBlocking).map(({ line, code }) => `${line} ${code}`)).toContain("10 invalid_yaml");
    expect(verdict.issues.map(({ name, code }) => `${name} ${code}`)).toContain("y unknown_field");
  });
  test("the same path in two documents: both are reported", () => {
    const bad = x.replace("priority: 1", "priority: 9007199254740993");
    expect(said(validate({ "fleets/x.yaml": `${bad}---\n${y.replace("priority: 2", "priority: high")}` }))).toEqual([
      "invalid_value 7 spec.priority",
      "invalid_value 16 spec.priority",
    ]);
  });
});

describe("YAML 1.2 by its core schema", () => {
  const scalars: [string, unknown][] = [
    ["9007199254740991", 9007199254740991],
    ["-9007199254740991", -9007199254740991],
    ["0o17", 15],
    ["0xff", 255],
    ["017", 17],
    ["+5", 5],
    ["-0", 0],
    ["1.", 1],
    [".5", 0.5],
    ["1e3", 1000],
    ["yes", "yes"],
    ["No", "No"],
    ["on", "on"],
    ["y", "y"],
    ["1_000", "1_000"],
    ["0b11", "0b11"],
    ["12:30:45", "12:30:45"],
    ["2026-11-30", "2026-11-30"],
    ["2026-11-30T01:02:03Z", "2026-11-30T01:02:03Z"],
    ["TRUE", true],
    ["True", true],
    ["Null", null],
    ["", null],
    ["=", "="],
    ["1.2.3", "1.2.3"],
    ["0.162", 0.162],
    ["!!str 5", "5"],
    ["!!str true", "true"],
    ["!!str", ""],
    ['!!int "5"', 5],
    ['!!float "1.5"', 1.5],
    ['!!bool "true"', true],
    ['!!null ""', null],
    ["!!map {a: 1}", map(["a", 1])],
    ["!!seq [1]", [1]],
    ["! 5", "5"],
    ["!<tag:yaml.org,2002:str> 5", "5"],
  ];
  test.each(scalars)("%s", (text, value) => {
    expect(read(`a: ${text}\nb: 1`)).toEqual(map(["a", value], ["b", 1]));
  });
  test("a handle that stands for the core tags", () => {
    const text = `%TAG !y! tag:yaml.org,2002:\n---\n${object("Fleet", "x", "selector: {}\npriority: !y!int '5'\nblueprint: !y!str base\n")}`;
    expect(said(validate({ "fleets/x.yaml": text }))).toEqual([]);
  });
});

describe("unusual YAML that is right", () => {
  const odd: [string, string, unknown][] = [
    ["a literal block", "a: |\n  one\n   two\n\n  three\n", "one\n two\n\nthree\n"],
    ["a literal block without its last line end", "a: |-\n  one\n  two\n", "one\ntwo"],
    ["a literal block with all its line ends", "a: |+\n  one\n\n\nb: 1", "one\n\n\n"],
    ["a folded block", "a: >\n  one\n  two\n\n  three\n", "one two\nthree\n"],
    ["a folded block, stripped", "a: >-\n  one\n  two\n", "one two"],
    ["a block with an indentation indicator", "a: |2\n    one\n  two\n", "  one\ntwo\n"],
    ["a block with a comment in its head", "a: | # text follows\n  # no comment\n", "# no comment\n"],
    [
      "a folded template",
      "a: >-\n  {% if agent.os == 'linux' %}\n  penguin\n  {%- else -%}\n  other\n  {% endif %}\n",
      " penguin",
    ],
    ["a template over several lines in quotes", 'a: "{{ agent.os\n  | upcase }}"\n', "LINUX"],
    [
      "a literal block that holds a template",
      "a: |\n  host={{ agent.hostName }}\n  os={{ agent.os }}\n",
      "host=one\nos=linux\n",
    ],
    ["plain text over several lines", "a: one\n  two\n  three\n", "one two three"],
    ["quotes inside quotes", "a: 'it''s \"so\"'\n", 'it\'s "so"'],
    ["escapes", 'a: "\\t\\x41\\u00e9\\U0001F680\\\\ \\\n  joined"\n', "\tAé🚀\\ joined"],
    ["unicode", "a: 日本語 🚀 ü\n", "日本語 🚀 ü"],
    ["a colon and a hash inside plain text", "a: http://x.example.com:80/#frag\n", "http://x.example.com:80/#frag"],
    ["trailing commas", "a: [1, 2,]\n", [1, 2]],
    [
      "a flow map over several lines with comments",
      "a: {\n  b: 1, # one\n  c: [ # list\n    2,\n  ],\n}\n",
      map(["b", 1], ["c", [2]]),
    ],
    ["a flow map with keys alone", "a: {b, c: , d: 1}\n", map(["b", null], ["c", null], ["d", 1])],
    ["pairs in a list", "a: [b: 1, c: 2]\n", [map(["b", 1]), map(["c", 2])]],
    ["quoted keys", "a: {\"b c\": 1, 'd': 2}\n", map(["b c", 1], ["d", 2])],
    ["JSON-like keys", 'a: {"b":1,"c":[2,{"d":null}]}\n', map(["b", 1], ["c", [2, map(["d", null])]])],
    ["explicit keys", "a:\n  ? b\n  : 1\n  ? 'long key'\n  : - 2\n", map(["b", 1], ["long key", [2]])],
    ["a key that is a block", "a:\n  ? |\n    two\n    lines\n  : 1\n", map(["two\nlines\n", 1])],
    ["an alias as key", "a: {k: &k name, *k : 1}\n", map(["k", "name"], ["name", 1])],
    ["anchors on keys", "a: {&k b: *k}\n", map(["b", "b"])],
    ["an anchor that is defined twice", "a: [&x 1, *x, &x 2, *x]\n", [1, 1, 2, 2]],
    ["empty collections", "a: [{}, [], '']\n", [map(), [], ""]],
    ["lists at the column of their key", "a:\n- 1\n- b: 2\n  c: 3\n", [1, map(["b", 2], ["c", 3])]],
    ["lists in lists", "a:\n- - 1\n  - 2\n- - 3\n", [[1, 2], [3]]],
    ["tabs behind values and before comments", "a: 1\t# one\n", 1],
    ["comments between everything", "# a\na: # b\n  # c\n  - 1 # d\n  # e\n  - 2\n# f\n", [1, 2]],
    ["a very long line", `a: ${"x ".repeat(20_000)}y\n`, `${"x ".repeat(20_000)}y`],
    ["a long key", `a: {${"k".repeat(1_000)}: 1}\n`, map(["k".repeat(1_000), 1])],
    [
      "deep nesting",
      `a: ${"[".repeat(60)}${"]".repeat(60)}\n`,
      Array.from({ length: 59 }).reduce((inner: unknown) => [inner], []),
    ],
    ["dollars and braces", 'a: ["$${1}", "${env:A:-{x}}", "{a}", "$$"]\n', ["$${1}", "${env:A:-{x}}", "{a}", "$$"]],
    [
      "text that begins with an indicator, in quotes",
      "a: ['*.log', '@x', '%d', '&a', '!b', '{{', '- a', '# c', '|']\n".replace("'{{'", "'{% raw %}{{{% endraw %}'"),
      ["*.log", "@x", "%d", "&a", "!b", "{{", "- a", "# c", "|"],
    ],
    [
      "text with indicators inside",
      "a: [x*y, a&b, 100%, x@y, b!, a|b, a>b, -x, a?b, 'a,b']\n",
      ["x*y", "a&b", "100%", "x@y", "b!", "a|b", "a>b", "-x", "a?b", "a,b"],
    ],
  ];
  test.each(odd)("%s", (_, text, value) => {
    expect((read(text) as Map<unknown, unknown>).get("a")).toEqual(value);
  });

  test("hundreds of aliases and merges", () => {
    const many = Array.from({ length: 300 }, (_, k) => `  - {<<: *d, id: ${k}, ref: *d}`).join("\n");
    const all = read(`d: &d {x: 1, y: [2]}\nall:\n${many}`) as Map<string, unknown[]>;
    expect(all.get("all")).toHaveLength(300);
  });
  test("an object in which everything is unusual", () => {
    const text = `--- # ⚙\n"apiVersion" : 'myriarch.dev/v1alpha1'\n? kind\n: Fleet\nmetadata : { name : "x" , "labels":{"a b":"c"}, }\nspec: !!map\n  selector: {"matchExpressions":[{"key":"os.type","operator":"In","values":["linux",],},],}\n  priority:   0x10\n  blueprint: >-\n    base\n  parameters: {port: +80}\n...\n`;
    const verdict = validate({ "fleets/x.yaml": text });
    expect(said(verdict)).toEqual([]);
    expect(specOf(verdict)).toMatchObject({ priority: 16, blueprint: "base", parameters: { port: 80 } });
  });
});
