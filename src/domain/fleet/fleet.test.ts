import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test, describe } from "vitest";
import { SPECS, type GitObject, type Kind, type ObjectOf } from "../gitops/kinds.ts";
import type { Plain, PlainMap } from "../gitops/plain.ts";
import { encodeKey, samePlain } from "../gitops/plain.ts";
import { readBack, readYaml } from "../gitops/yaml-source.ts";
import type { FleetAgent } from "./agent.ts";
import { assignAgents, identifier } from "./assign.ts";
import { emitYaml } from "./emit-yaml.ts";
import { desiredVersion } from "./desired-version.ts";
import { renderConfig } from "./render.ts";

const yaml = (text: string): Plain => readYaml(new TextEncoder().encode(text)).documents[0]?.data ?? null;
const git = <K extends Kind>(kind: K, name: string, spec: string): ObjectOf<K> =>
  ({
    kind,
    name,
    metadata: { name, labels: { team: "edge" } },
    spec: SPECS[kind].parse(yaml(spec)),
    source: { file: `${name}.yaml`, line: 1 },
  }) as unknown as ObjectOf<K>;
const agent = (uid: string, more: Partial<FleetAgent> = {}): FleetAgent => ({
  uid,
  hostName: uid,
  os: "linux",
  arch: "amd64",
  serviceName: "otelcol-contrib",
  version: "0.160.0",
  credential: "token:1",
  credentialLabels: {},
  attributes: {},
  ...more,
});
const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();
const snapshot = (...objects: GitObject[]) => ({ objects });

describe("assigning", () => {
  const fleets = [
    git("Fleet", "all", "{selector: {}, blueprint: b}"),
    git("Fleet", "edge", "{selector: {matchLabels: {site: edge}}, priority: 5, blueprint: b}"),
    git(
      "Fleet",
      "also-edge",
      "{selector: {matchExpressions: [{key: site, operator: In, values: [edge, core]}]}, priority: 5, blueprint: b}",
    ),
  ];
  const assigned = (agents: FleetAgent[], ...more: GitObject[]) =>
    Object.fromEntries([...assignAgents(snapshot(...fleets, ...more), agents)].map(([uid, { fleet }]) => [uid, fleet]));

  test("the highest priority that matches gets the agent, a tie goes to the name that sorts first", () => {
    const agents = [
      agent("a"),
      agent("b", { attributes: { site: "edge" } }),
      agent("c", { attributes: { site: "core" } }),
    ];
    expect(assigned(agents)).toEqual({ a: "all", b: "also-edge", c: "also-edge" });
    const [, tied] = [...assignAgents(snapshot(...fleets), agents).values()];
    expect(tied?.tiedWith).toEqual(["edge"]);
  });

  test("an agent that no fleet matches is unassigned, with a reason", () => {
    const only = snapshot(git("Fleet", "edge", "{selector: {matchLabels: {site: edge}}, blueprint: b}"));
    expect(assignAgents(only, [agent("a")]).get("a")).toMatchObject({
      fleet: null,
      reason: "no fleet's selector matches",
    });
  });

  test("a reported attribute never overrides a label of the credential or of Git", () => {
    const entry = git("Inventory", "i", "{entries: [{host: A, labels: {site: hq}}]}");
    const liar = agent("a", { attributes: { site: "edge", __proto__: "x" }, credentialLabels: { site: "core" } });
    expect(assigned([liar])).toEqual({ a: "also-edge" });
    expect(assigned([liar], entry)).toEqual({ a: "all" });
  });

  const pins: [string, string, string | undefined][] = [
    ["no pin", "", "x"],
    ["its uid", ", instanceUid: 0190a8f4-0000-7000-8000-000000000001", "x"],
    ["another uid", ", instanceUid: 0190a8f4-0000-7000-8000-000000000002", undefined],
    ["its token's name", ", credential: site-a", "x"],
    ["another token's name", ", credential: site-b", undefined],
  ];
  test.each(pins)("an inventory entry with %s", (_, pin, label) => {
    const entry = git("Inventory", "i", `{entries: [{host: WEB-01, labels: {is: x}${pin}}]}`);
    const one = agent("0190a8f4-0000-7000-8000-000000000001", { hostName: "web-01", credentialName: "site-a" });
    expect(identifier(snapshot(entry), [one])(one).labels["is"]).toBe(label);
  });

  test("a host name that two live agents claim gives neither the entry; a dead one contests nothing", () => {
    const objects = snapshot(git("Inventory", "i", "{entries: [{host: web, labels: {is: x}}]}"));
    const [a, b] = [agent("a", { hostName: "web" }), agent("b", { hostName: "WEB" })];
    const both = identifier(objects, [a, b]);
    expect([both(a).labels["is"], both(b).labels["is"]]).toEqual([undefined, undefined]);
    expect(both(a).conflict).toContain("claims the host name");
    expect(identifier(objects, [a, { ...b, live: false }])(a).labels["is"]).toBe("x");
  });
});

describe("the wanted version", () => {
  test.each([
    [`{target: "0.162.0"}`, "0.162.0"],
    [`{choice: {range: ">=0.160.0 <0.170.0", default: "0.161.0"}}`, "0.161.0"],
  ])("%s", (version, wanted) => {
    const fleet = git("Fleet", "f", `{selector: {}, blueprint: b, version: ${version}}`);
    expect(desiredVersion(fleet)).toEqual({ distribution: "otelcol-contrib", version: wanted, allowDowngrade: false });
  });
  test("a fleet without version manages configuration only", () => {
    expect(desiredVersion(git("Fleet", "f", "{selector: {}, blueprint: b}"))).toBeUndefined();
  });
});

const BASE = `
parameters:
  port: {type: integer, default: 13133}
  exporters: {type: list, default: [debug]}
  ports: {type: map, default: {22: ssh, true: yes}}
config:
  receivers: {otlp: {}, hostmetrics: {scrapers: {cpu: }}}
  exporters: {debug: {}, file: {path: /x}}
  service: {pipelines: {metrics: {receivers: [otlp], exporters: "{{ .parameters.exporters }}"}}}
`;
const render = (heir: string, fleet = "", who: Partial<FleetAgent> = {}, inventory = "{}") =>
  renderConfig(
    snapshot(git("Blueprint", "base", BASE), git("Blueprint", "b", heir), git("Inventory", "i", inventory)),
    git("Fleet", "f", `{selector: {}, blueprint: b${fleet}}`),
    agent("u", who),
    "0.162.0",
    sha256,
  );
const text = (...of: Parameters<typeof render>): string => {
  const rendered = render(...of);
  return rendered.ok ? new TextDecoder().decode(rendered.bytes) : `${rendered.code}: ${rendered.message}`;
};
const data = (...of: Parameters<typeof render>): PlainMap => yaml(text(...of)) as PlainMap;

describe("rendering", () => {
  test("maps merge deep, null removes what is there, lists replace in a blueprint's own config", () => {
    const got =
      data(`{extends: base, config: {exporters: {file: , debug: {verbosity: basic}}, receivers: {otlp: {a: [1]}},
      service: {pipelines: {metrics: {receivers: [hostmetrics]}}}}}`);
    expect(got).toEqual({
      receivers: { otlp: { a: [1] }, hostmetrics: { scrapers: { cpu: null } } },
      exporters: { debug: { verbosity: "basic" } },
      service: { pipelines: { metrics: { receivers: ["hostmetrics"], exporters: ["debug"] } } },
    });
  });

  test("fragments apply when their condition holds, and append to component lists without duplicates", () => {
    const heir = `{extends: base, fragments: [
      {name: linux, when: 'agent.os == "linux"', config: {service: {pipelines: {metrics: {receivers: [otlp, hostmetrics], exporters: [file, debug]}}}}},
      {name: zone, when: agent.attributes.zone, config: {exporters: {debug: {zone: "{{ agent.attributes.zone }}"}}}}]}`;
    expect(data(heir)["service"]).toEqual({
      pipelines: { metrics: { receivers: ["otlp", "hostmetrics"], exporters: ["debug", "file"] } },
    });
    expect(data(heir)["exporters"]).toEqual({ debug: {}, file: { path: "/x" } });
    expect(data(heir, "", { attributes: { zone: "b" } })["exporters"]).toEqual({
      debug: { zone: "b" },
      file: { path: "/x" },
    });
  });

  test("a scalar that is exactly one template keeps the type of its value, map keys of any type included", () => {
    const heir = `{extends: base, config: {exporters: {debug: {port: "{{ parameters.port }}", text: ":{{ parameters.port }}",
      ports: "{{ parameters.ports }}", one: "{{ parameters.ports['22'] }}", list: "{{ parameters.exporters }}"}}}}`;
    expect(data(heir)["exporters"]).toMatchObject({
      debug: { port: 13133, text: ":13133", ports: { "=22": "ssh", "=true": "yes" }, one: "ssh", list: ["debug"] },
    });
    expect(text(heir)).toContain("22: ssh");
  });

  test("parameters: blueprint default, then fleet, then inventory", () => {
    const heir = `{extends: base, config: {exporters: {debug: {port: "{{ parameters.port }}"}}}}`;
    const port = (...more: [string?, Partial<FleetAgent>?, string?]) => data(heir, ...more)["exporters"];
    expect(port()).toMatchObject({ debug: { port: 13133 } });
    expect(port(", parameters: {port: 1}")).toMatchObject({ debug: { port: 1 } });
    expect(
      port(", parameters: {port: 1}", { hostName: "W" }, "{entries: [{host: w, parameters: {port: 2}}]}"),
    ).toMatchObject({
      debug: { port: 2 },
    });
  });

  test("everything that is in scope can be read; references that the collector resolves pass through untouched", () => {
    const heir = `{extends: base, config: {exporters: {debug: {all: "{{ .fleet.name }} {{ fleet.labels.team }} {{ agent.instanceUid }} {{ agent.hostName }} {{ agent.os }}/{{ agent.arch }} {{ version }} {{ inventory.labels.rack }}", env: "\${env:TOKEN}", raw: "{% raw %}{{ x }}{% endraw %}"}}}}`;
    expect(data(heir, "", {}, "{entries: [{host: u, labels: {rack: r1}}]}")["exporters"]).toMatchObject({
      debug: { all: "f edge u u linux/amd64 0.162.0 r1", env: "${env:TOKEN}", raw: "{{ x }}" },
    });
  });

  const refused: [string, string, string][] = [
    [
      "an unset required parameter",
      "{extends: base, parameters: {x: {type: string, required: true}}}",
      "missing_parameter",
    ],
    ["an undefined variable", `{extends: base, config: {a: "{{ agent.attributes.nope }}"}}`, "template_error"],
    ["an empty map", "{config: {}}", "invalid_config"],
    ["an undefined exporter", "{extends: base, config: {exporters: {debug: }}}", "invalid_config"],
    ["endless work", `{extends: base, config: {a: "{% for i in (1..99999999) %}x{% endfor %}"}}`, "template_error"],
  ];
  test.each(refused)("%s is refused with a code, never rendered to something else", (_, heir, code) => {
    expect(render(heir)).toMatchObject({ ok: false, code });
  });

  test("the same inputs give the same bytes and hash, whatever the order in which keys were written", () => {
    const [a, b] = [
      render("{extends: base, config: {a: {x: 1, y: 2}, b: 3}}"),
      render("{config: {b: 3, a: {y: 2, x: 1}}, extends: base}"),
    ];
    expect(a).toEqual(b);
    expect(render("{extends: base, config: {a: {x: 1, y: 2}, b: 4}}")).not.toEqual(a);
  });
});

describe("emitted bytes", () => {
  const awkward = [
    "yes",
    "NO",
    "on",
    "~",
    "null",
    "012",
    "0x1F",
    "0o7",
    "1_000",
    "1:30",
    "2020-01-01",
    "1e3",
    ".inf",
    "<<",
    "=",
    "- a",
    "a: b",
    "#c",
    "",
    " ",
    "a\nb",
    "a\u2028b",
    "\u0085",
    "\ufeff",
    "\u007f",
    "'",
    '"',
    "\\",
    "!x",
    "&a",
    "*a",
    "%a",
    "@",
    "`",
    "?",
    "0.162.0",
    "\u{1F600}",
    "y",
    "n",
    "e1",
    "E02",
    "\ufffe\uffff",
    "12:30:45",
    "2001-12-14t21:59:43.10-05:00",
    "---\n",
    "a ",
    "\t",
    "a\r\nb",
    "\u001b[0m",
    "x".repeat(5_000),
  ];
  test.each(awkward)("%j reads back as text, as value and as key, in YAML 1.1 and 1.2", (odd) => {
    const value = { [encodeKey(odd)]: odd, list: [odd, [odd]] };
    const out = emitYaml(value);
    expect(out).toBeDefined();
    expect([readBack(out ?? "", "1.1"), readBack(out ?? "", "1.2")].every((back) => samePlain(back, value))).toBe(true);
  });

  test("any data reads back equal (300 random ones)", () => {
    const scalar = fc.oneof(
      fc.constant(null),
      fc.boolean(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string(),
      fc.constantFrom(...awkward),
    );
    const key = fc
      .oneof(fc.string(), fc.constantFrom(...awkward), fc.integer(), fc.boolean(), fc.constant(null))
      .map(encodeKey);
    const { tree } = fc.letrec<{ tree: Plain }>((tie) => ({
      tree: fc.oneof(
        { depthSize: "small" },
        scalar,
        fc.array(tie("tree"), { maxLength: 4 }),
        fc.dictionary(key, tie("tree"), { maxKeys: 4 }),
      ),
    }));
    const map = fc.dictionary(key, tree, { minKeys: 1, maxKeys: 5 });
    fc.assert(
      fc.property(map, (value) => {
        fc.pre(!JSON.stringify(value).includes("-0") && isHonest(value));
        expect(emitYaml(value)).toBeDefined();
      }),
      { numRuns: 300, seed: 20261129 },
    );
  });
});

/** What the reader would have refused before: integers beyond 2^53, negative zero, NUL, half a surrogate pair. */
const isHonest = (value: Plain): boolean => {
  if (typeof value === "number")
    return !Object.is(value, -0) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (value === null || typeof value === "boolean") return true;
  const members = Array.isArray(value) ? value : [...Object.keys(value), ...Object.values(value)];
  return members.every(isHonest);
};
