import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SPECS, type GitObject, type Kind, type ObjectOf } from "../gitops/kinds.ts";
import { encodeKey, type Plain, type PlainMap } from "../gitops/plain.ts";
import { readYaml } from "../gitops/yaml-source.ts";
import type { FleetAgent } from "./agent.ts";
import { renderConfig, type Rendered } from "./render.ts";

const dataIn = (text: string): Plain => readYaml(new TextEncoder().encode(text)).documents[0]?.data ?? null;
const object = <K extends Kind>(kind: K, name: string, spec: Plain): ObjectOf<K> =>
  ({
    kind,
    name,
    metadata: { name, labels: { team: "edge" } },
    spec: SPECS[kind].parse(spec),
    source: { file: `${name}.yaml`, line: 1 },
  }) as unknown as ObjectOf<K>;
const blueprint = (name: string, spec: string): GitObject => object("Blueprint", name, dataIn(spec));
const fleetOf = (parameters: Plain = {}, of = "b") => object("Fleet", "f", { selector: {}, blueprint: of, parameters });
const inventory = (entries: string): GitObject => object("Inventory", "i", dataIn(`{entries: ${entries}}`));
const agent = (hostName: string, attributes: Record<string, unknown> = {}): FleetAgent => ({
  uid: hostName,
  hostName,
  os: "linux",
  arch: "amd64",
  serviceName: "otelcol-contrib",
  version: "0.160.0",
  credential: "token:1",
  credentialLabels: {},
  attributes,
});
const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

const PIPELINE = "service: {pipelines: {logs: {receivers: [nop], exporters: [nop]}}}";
const NOP = `receivers: {nop: }, exporters: {nop: }, ${PIPELINE}`;
type Situation = { parameters?: Plain; who?: FleetAgent; more?: GitObject[]; of?: string };
function render(blueprints: GitObject[], { parameters, who = agent("u"), more = [], of }: Situation = {}): Rendered {
  return renderConfig({ objects: [...blueprints, ...more] }, fleetOf(parameters, of), who, "0.162.0", sha256);
}
const textOf = (rendered: Rendered): string =>
  rendered.ok ? new TextDecoder().decode(rendered.bytes) : `${rendered.code}: ${rendered.message}`;
const dataOf = (rendered: Rendered): PlainMap => dataIn(textOf(rendered)) as PlainMap;
/** What `extra` of a blueprint with this configuration renders to. */
const extra = (spec: string, situation?: Situation): Plain =>
  dataOf(render([blueprint("b", spec)], situation))["extra"] ?? null;

describe("a chain of blueprints", () => {
  const links = (count: number): GitObject[] =>
    Array.from({ length: count }, (_, k) =>
      blueprint(
        k === count - 1 ? "b" : `b${k}`,
        k === 0
          ? `{config: {${NOP}, extra: {level: 0, l0: 0, list: [0]}}}`
          : `{extends: b${k - 1}, config: {extra: {level: ${k}, l${k}: ${k}, list: [${k}]}}}`,
      ),
    );

  test("of eight lays each over its ancestors", () => {
    expect(dataOf(render(links(8)))["extra"]).toEqual({
      level: 7,
      list: [7],
      ...Object.fromEntries(Array.from({ length: 8 }, (_, k) => [`l${k}`, k])),
    });
  });
  test("of nine, in a circle, or with a gap is refused", () => {
    const circle = [blueprint("b", "{extends: c}"), blueprint("c", "{extends: b}")];
    for (const blueprints of [links(9), circle, [blueprint("b", "{extends: gone}")], []]) {
      expect(render(blueprints)).toMatchObject({ ok: false, code: "unknown_reference" });
    }
  });

  test("first every configuration, then every fragment, each from the root down", () => {
    const layer = (name: string, parent: string, more: string) =>
      blueprint(
        name,
        `{${parent}config: {${more}extra: {from: ${name}-config, ${name}: c}},
        fragments: [{name: x, config: {extra: {from: ${name}-1, last: ${name}-1}}}, {name: y, config: {extra: {from: ${name}-2}}}]}`,
      );
    const chain = [layer("a", "", `${NOP}, `), layer("m", "extends: a, ", ""), layer("b", "extends: m, ", "")];
    expect(dataOf(render(chain))["extra"]).toEqual({ a: "c", m: "c", b: "c", from: "b-2", last: "b-1" });
  });
});

describe("merging", () => {
  const merged = (base: string, over: string, as: "heir" | "fragment"): PlainMap => {
    const rest =
      as === "heir" ? `{extends: base, config: ${over}}` : `{extends: base, fragments: [{name: x, config: ${over}}]}`;
    return dataOf(render([blueprint("base", `{config: ${base}}`), blueprint("b", rest)]));
  };

  test.each(["heir", "fragment"] as const)("by %s: maps merge deep, null removes, other lists replace", (as) => {
    const base = `{${NOP}, extra: {map: {a: {b: 1, c: 2}, gone: {x: 1}}, list: [1, 2, 3], text: old, type: {a: 1}, back: [1]}}`;
    const over = `{extra: {map: {a: {c: 3, d: null}, gone: null, new: null}, list: [9], text: {now: a map}, type: 1, back: {}}}`;
    expect(merged(base, over, as)["extra"]).toEqual({
      map: { a: { b: 1, c: 3, d: null }, new: null },
      list: [9],
      text: { now: "a map" },
      type: 1,
      back: {},
    });
  });

  const BASE = `{receivers: {nop: , r: }, processors: {p: , q: }, exporters: {nop: , e: }, extensions: {x: , y: },
    service: {extensions: [x], telemetry: {logs: {output_paths: [a]}}, pipelines: {logs: {receivers: [nop], processors: [p], exporters: [nop]}}}}`;
  const OVER = `{service: {extensions: [y, x], telemetry: {logs: {output_paths: [b]}},
    pipelines: {logs: {receivers: [r, nop], processors: [q, p, q], exporters: [e]}, traces: {receivers: [nop], exporters: [nop]}}}}`;
  const TRACES = { receivers: ["nop"], exporters: ["nop"] };

  test("a fragment appends to the component lists, without duplicates, and replaces every other list", () => {
    expect(merged(BASE, OVER, "fragment")["service"]).toEqual({
      extensions: ["x", "y"],
      telemetry: { logs: { output_paths: ["b"] } },
      pipelines: { logs: { receivers: ["nop", "r"], processors: ["p", "q"], exporters: ["nop", "e"] }, traces: TRACES },
    });
  });

  test("an heir's own configuration replaces the component lists", () => {
    expect(merged(BASE, OVER.replace("[q, p, q]", "[q]"), "heir")["service"]).toEqual({
      extensions: ["y", "x"],
      telemetry: { logs: { output_paths: ["b"] } },
      pipelines: { logs: { receivers: ["r", "nop"], processors: ["q"], exporters: ["e"] }, traces: TRACES },
    });
  });

  test("a fragment appends to a list that a template makes, and a null takes a list away again", () => {
    const base = BASE.replace("receivers: [nop]", 'receivers: "{{ parameters.in }}"');
    const spec = `{parameters: {in: {type: list, default: [nop]}}, config: ${base}, fragments: [
      {name: a, config: {service: {pipelines: {logs: {receivers: [r], processors: null}}}}},
      {name: b, config: {service: {pipelines: {logs: {receivers: "{{ parameters.in }}", processors: [q]}}}}}]}`;
    expect(dataOf(render([blueprint("b", spec)]))["service"]).toMatchObject({
      pipelines: { logs: { receivers: ["nop", "r"], processors: ["q"], exporters: ["nop"] } },
    });
  });

  test("a fragment whose condition does not hold changes nothing, one that cannot be judged is refused", () => {
    const spec = (when: string) =>
      blueprint("b", `{config: {${NOP}, extra: 1}, fragments: [{name: a, when: '${when}', config: {extra: 2}}]}`);
    expect(dataOf(render([spec('agent.os == "plan9"')]))["extra"]).toBe(1);
    expect(dataOf(render([spec(".agent.attributes.absent")]))["extra"]).toBe(1);
    expect(dataOf(render([spec('fleet.labels.team == "edge"')]))["extra"]).toBe(2);
    expect(render([spec("agent.os | nope")])).toMatchObject({ ok: false, code: "template_error" });
  });
});

describe("parameters", () => {
  const spec = (declared: string, value = "{{ parameters.p }}"): string =>
    `{parameters: {p: ${declared}}, config: {${NOP}, extra: "${value}"}}`;

  test("blueprint default, then fleet, then inventory entry; a null sets nothing", () => {
    const heir = [
      blueprint("a", spec("{type: integer, default: 1}")),
      blueprint("b", "{extends: a, parameters: {p: {type: integer, default: 2}}}"),
    ];
    const value = (parameters: Plain, entry: string): Plain =>
      dataOf(render(heir, { parameters, more: [inventory(`[{host: U, parameters: ${entry}}]`)] }))["extra"] ?? null;
    expect([value({}, "{}"), value({ p: 3 }, "{}"), value({ p: 3 }, "{p: 4}")]).toEqual([2, 3, 4]);
    expect([value({ p: null }, "{}"), value({ p: 3 }, "{p: null}")]).toEqual([2, 3]);
  });

  const kept: [string, Plain][] = [
    ["string", "12:30"],
    ["integer", 3],
    ["number", 1.5],
    ["boolean", false],
    ["list", [1, "1", null, { a: [] }]],
    ["map", { "=22": "ssh", "22": "text", "==": 1, a: { b: null } }],
  ];
  test.each(kept)("a %s keeps its type and its keys", (type, value) => {
    expect(extra(spec(`{type: ${type}}`), { parameters: { p: value } })).toEqual(value);
  });

  const wrong: [string, Plain][] = [
    ["{type: integer}", 1.5],
    ["{type: integer}", "1"],
    ["{type: string}", 1],
    ["{type: boolean}", "true"],
    ["{type: list}", {}],
    ["{type: map}", []],
    ["{type: string, enum: [a, b]}", "c"],
    ["{type: string, pattern: '^a+$'}", "b"],
    ["{type: number, minimum: 1}", 0],
    ["{type: number, maximum: 1}", 2],
  ];
  test.each(wrong)("%s refuses %j, from the inventory too", (declared, value) => {
    const refused = { ok: false, code: "invalid_value" };
    const entry = object("Inventory", "i", { entries: [{ host: "u", parameters: { p: value } }] });
    expect(render([blueprint("b", spec(declared))], { parameters: { p: value } })).toMatchObject(refused);
    expect(render([blueprint("b", spec(declared))], { more: [entry] })).toMatchObject(refused);
  });

  test("one that is required and not set is refused; one that is neither is an undefined variable", () => {
    const code = (declared: string) => render([blueprint("b", spec(declared))]);
    expect(code("{type: string, required: true}")).toMatchObject({ ok: false, code: "missing_parameter" });
    expect(code("{type: string}")).toMatchObject({ ok: false, code: "template_error" });
    expect(extra(spec("{type: string}", "{{ parameters.p | default: 'x' }}"))).toBe("x");
  });
});

describe("scalars", () => {
  test("keys are no templates", () => {
    expect(extra(`{config: {${NOP}, extra: {"{{ version }}": "{{ version }}"}}}`)).toEqual({
      "{{ version }}": "0.162.0",
    });
  });
  test("text that a template makes stays text, whatever it looks like", () => {
    const odd = [
      "yes",
      "0777",
      "1e3",
      "12:30",
      "2026-01-01",
      "~",
      "<<",
      "",
      " ",
      "a: b",
      "${env:X}",
      "\u{1F600}\u2028",
    ];
    const who = agent("u", Object.fromEntries(odd.map((text, k) => [`a${k}`, text])));
    const list = odd.map((_, k) => `"{{ agent.attributes.a${k} }}"`).join(", ");
    expect(extra(`{config: {${NOP}, extra: [${list}]}}`, { who })).toEqual(odd);
  });
  test("what no reader of YAML takes is refused, not repaired", () => {
    const spec = blueprint("b", `{config: {${NOP}, extra: "{{ agent.attributes.a }}"}}`);
    for (const a of ["half \ud800 a pair", "NUL \0"]) {
      expect(render([spec], { who: agent("u", { a }) })).toMatchObject({ ok: false, code: "invalid_config" });
    }
  });
  test("an attribute that is named like an encoded key is only a name", () => {
    const who = agent("u", { "=x": "y", "=22": "z" });
    expect(extra(`{config: {${NOP}, extra: "{{ agent.attributes }}"}}`, { who })).toEqual({ "==x": "y", "==22": "z" });
  });
  test("what aliases multiply is bounded", () => {
    const many = (count: number, what: string): string => Array.from({ length: count }, () => what).join(", ");
    const spec = `{config: {${NOP}, extra: {x: &x [${many(1_000, "1")}], y: [${many(900, "*x")}]}}}`;
    const rendered = render([blueprint("b", spec)]);
    expect(rendered).toMatchObject({ ok: false, code: "invalid_config" });
    expect(textOf(rendered)).toContain("4 MiB");
  });
  test("what many scalars multiply is bounded: data that each of them repeats, and text", () => {
    const many = (scalar: string): string => Array.from({ length: 300 }, (_, k) => `k${k}: "${scalar}"`).join(", ");
    const big = Array.from({ length: 20_000 }, (_, k) => k);
    for (const scalar of ["{{ parameters.p }}", "{{ parameters.p | join: '' }}"]) {
      const spec = blueprint("b", `{parameters: {p: {type: list}}, config: {${NOP}, extra: {${many(scalar)}}}}`);
      const rendered = render([spec], { parameters: { p: big } });
      expect(rendered).toMatchObject({ ok: false, code: "template_error" });
      expect(textOf(rendered)).toContain("4 MiB");
      expect(textOf(rendered)).not.toContain("more)");
    }
  });
});

describe("the same inputs give the same bytes", () => {
  const LISTING = "{% for p in parameters.p %}{{ p[0] }}={{ p[1] }};{% endfor %}{{ parameters.p | json | size }}";
  const spec = `{parameters: {p: {type: map}}, config: {${NOP}, extra: {a: "${LISTING}", b: "{{ parameters.p }}", c: "{{ agent.attributes | json | size }}{% for a in agent.attributes %}{{ a[0] }}{% endfor %}"}}}`;
  const turned = (map: Record<string, Plain>): Record<string, Plain> =>
    Object.fromEntries(Object.entries(map).toReversed());

  test("in whatever order maps were written and attributes reported (50 random ones)", () => {
    const maps = fc.dictionary(fc.string().map(encodeKey), fc.oneof(fc.integer(), fc.stringMatching(/^[ -z]*$/)), {
      maxKeys: 6,
    });
    fc.assert(
      fc.property(maps, maps, (p, attributes) => {
        const first = render([blueprint("b", spec)], { parameters: { p }, who: agent("u", attributes) });
        const second = render([blueprint("b", spec)], {
          parameters: { p: turned(p) },
          who: agent("u", turned(attributes)),
        });
        expect(second).toEqual(first);
      }),
      { numRuns: 50, seed: 20261130 },
    );
  });

  test("whoever was rendered before: agents of one fleet never get each other's configuration", () => {
    const entries = `[{host: a, parameters: {p: {22: x}}}, {host: b, parameters: {p: {"22": x}}}, {host: c, parameters: {p: {y: 1, x: 2}}}, {host: d, parameters: {p: {x: 2, y: 1}}}]`;
    const shadowed =
      "{% if fleet.labels.team == 'none' %}{% assign agent = fleet %}{% endif %}{% for agent in parameters.p %}{% else %}{% endfor %}{{ agent.hostName }}";
    const hosts = ["a", "b", "c", "d"];
    for (const text of [spec, spec.replace("{a: ", `{d: "${shadowed}", a: `)]) {
      const b = blueprint("b", text);
      const alone = hosts.map((host) => textOf(render([b], { who: agent(host), more: [inventory(entries)] })));
      for (const order of [hosts, hosts.toReversed()]) {
        const snapshot = { objects: [b, inventory(entries)] };
        const together = new Map(
          order.map((host) => [host, textOf(renderConfig(snapshot, fleetOf(), agent(host), "0.162.0", sha256))]),
        );
        expect(hosts.map((host) => together.get(host))).toEqual(alone);
      }
      expect(new Set(alone).size).toBe(text === spec ? 3 : 4);
      expect(alone[0]).toContain("22: x");
      expect(alone[1]).toContain('"22": x');
    }
  });
});
