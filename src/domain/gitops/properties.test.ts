/**
 * Properties of validation over random repositories: what is valid renders to the same bytes however it is written and
 * laid out; what is corrupted is refused or valid, never half of it, and never a crash.
 */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { identifier } from "../fleet/assign.ts";
import { desiredVersion } from "../fleet/desired-version.ts";
import { renderConfig } from "../fleet/render.ts";
import { matches } from "../fleet/selector.ts";
import type { Plain, PlainMap } from "./plain.ts";
import { DEFAULT_LIMITS, isObjectFile, type RepositoryFile } from "./repository-files.ts";
import { fleets } from "./snapshot.ts";
import { applicable, isBlocking, validateRevision, type Verdict } from "./validate.ts";

type Thing = { kind: string; name: string; labels?: Record<string, string>; spec: PlainMap };
type Repository = { things: Thing[]; samples: PlainMap[] };

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,7}$/);
const percent = fc.integer({ min: 1, max: 100 }).map((n) => `${n}%`);
const share = fc.oneof(fc.integer({ min: 1, max: 50 }), percent);
const duration = fc.constantFrom("30s", "5m", "1h30m", "250ms", "1.5h");
const labels = fc.dictionary(
  fc.constantFrom("team", "site", "tier", "os.type"),
  fc.constantFrom("a", "b", "linux", "x y"),
  {
    maxKeys: 3,
  },
);
const given = (members: Record<string, unknown>): PlainMap =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as PlainMap;

/** Text that YAML and Liquid readers could take for something else. */
const awkward = fc.constantFrom(
  "yes",
  "NO",
  "on",
  "null",
  "~",
  "012",
  "0x1F",
  "1e3",
  "12:30",
  "2026-01-01",
  "- a",
  "a: b",
  "#c",
  "",
  " ",
  "a\nb\n",
  "\ta",
  "é 日本 🚀",
  "${env:TOKEN}",
  "${file:/run/x}",
  "$${1}",
  "{a}",
  "C:\\logs\\*.log",
  "'",
  '"',
  "%{x}",
  "a\u2028b",
  "<<",
  "=",
  "*a",
  "&a",
  "!x",
  "0.162.0",
);
const TEMPLATES = [
  "{{ parameters.port }}",
  ":{{ .parameters.port }}",
  "{{ parameters.tags }}",
  "{{ parameters.list | join: ',' }}",
  "{{ fleet.name }}",
  "{{ agent.os | upcase }}",
  "{% if agent.os == 'linux' %}/var{% else %}C:{% endif %}",
  "{{ agent.attributes.zone | default: 'none' }}",
  "{% for item in parameters.list %}{{ item }};{% endfor %}",
  "{% raw %}{{ x }}{% endraw %}",
  "{{ version }}",
  "{{ inventory.labels }}",
  "{{ agent.hostName }}",
];
const leaf: fc.Arbitrary<Plain> = fc.oneof(
  awkward,
  fc.constantFrom(...TEMPLATES),
  fc.integer({ min: -1e9, max: 1e9 }),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }).map((n) => n + 0),
  fc.boolean(),
  fc.constant(null),
);
const key = fc.oneof(
  word,
  fc.constantFrom("yes", "a b", "a/b", "a.b", "__proto__", "constructor", "toString", "x:y", "1", "~"),
);
const { tree } = fc.letrec<{ tree: Plain }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("tree"), { maxLength: 3 }),
    fc.dictionary(key, tie("tree"), { maxKeys: 3 }),
  ),
}));
const settings = fc.dictionary(key, tree, { maxKeys: 3 });

const DECLARED: PlainMap = {
  port: { type: "integer", default: 4317, minimum: 1, maximum: 65_535 },
  list: { type: "list", default: ["a", "b"] },
  tags: { type: "map", default: { team: "edge" } },
  ratio: { type: "number", default: 0.5 },
  mode: { type: "string", enum: ["fast", "safe"], default: "safe", pattern: "^[a-z]+$" },
};
const values = fc
  .record({
    port: fc.integer({ min: 1, max: 65_535 }),
    list: fc.array(word, { maxLength: 3 }),
    mode: fc.constantFrom("fast", "safe"),
  })
  .chain((all) =>
    fc
      .subarray(Object.keys(all))
      .map((chosen) => given(Object.fromEntries(Object.entries(all).filter(([name]) => chosen.includes(name))))),
  );

/** A chain of blueprints from `base` down; each may add fragments. */
const blueprints = fc
  .array(
    fc.record({
      config: settings,
      fragments: fc.array(
        fc.record({
          when: fc.constantFrom(undefined, "agent.os == 'linux'", "parameters.mode == 'fast'"),
          config: settings,
        }),
        { maxLength: 2 },
      ),
    }),
    { maxLength: 4 },
  )
  .map((layers): Thing[] => [
    {
      kind: "Blueprint",
      name: "b0",
      spec: {
        parameters: DECLARED,
        config: {
          receivers: { otlp: { protocols: { grpc: { endpoint: "0.0.0.0:{{ parameters.port }}" } } } },
          exporters: { debug: {} },
          service: { pipelines: { metrics: { receivers: ["otlp"], exporters: ["debug"] } } },
        },
      },
    },
    ...layers.map(({ config, fragments }, k): Thing => ({
      kind: "Blueprint",
      name: `b${k + 1}`,
      spec: {
        extends: `b${k}`,
        config: { exporters: { [`debug/${k}`]: config } },
        fragments: fragments.map((fragment, n) =>
          given({
            name: `f${n}`,
            when: fragment.when,
            config: {
              exporters: { [`debug/${k}-${n}`]: fragment.config },
              service: { pipelines: { metrics: { exporters: ["debug", `debug/${k}-${n}`] } } },
            },
          }),
        ),
      },
    })),
  ]);

const window = fc.record({
  days: fc.subarray(["mon", "tue", "wed", "thu", "fri", "sat", "sun"], { minLength: 1 }),
  start: fc.constantFrom("22:00", "00:00", "02:30"),
  end: fc.constantFrom("04:00", "24:00", "03:00"),
  timezone: fc.constantFrom("UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"),
});
const policy = fc.record({
  waves: fc
    .array(fc.record({ upTo: share, approval: fc.constantFrom("none", "required", "two_person"), bake: duration }), {
      maxLength: 3,
    })
    .map((waves) => waves.map((wave, k) => ({ name: `w${k}`, ...wave }))),
  maxConcurrent: share,
  healthWait: duration,
  failureThreshold: fc.record({ wave: share, rollout: share }),
  onThreshold: fc.constantFrom("pause", "abort", "rollback"),
  maintenanceWindows: fc.array(window, { maxLength: 2 }),
});
const executor = fc.constantFrom<PlainMap>(
  { type: "updater" },
  {
    type: "awx",
    awx: { url: "https://awx.example.com", jobTemplate: 7, tokenFile: "awx-token", extraVars: { "22": "ssh" } },
  },
  { type: "webhook", webhook: { url: "https://hooks.example.com/x", secretEnv: "HOOK", timeout: "10s", retries: 3 } },
);
const version = fc.constantFrom<PlainMap | undefined>(
  undefined,
  { target: "0.162.0" },
  { distribution: "otelcol", target: "0.162.0-rc.1", allowDowngrade: true },
  { choice: { range: ">=0.160.0 <0.170.0", default: "0.161.0" } },
  { choice: { list: ["0.160.0", "0.161.0"], default: "0.160.0" } },
);
const selector = fc.oneof(
  fc.constant<PlainMap>({}),
  labels.map((matchLabels): PlainMap => ({ matchLabels })),
  fc.constantFrom<PlainMap>({
    matchExpressions: [
      { key: "site", operator: "In", values: ["a", "b"] },
      { key: "nope", operator: "DoesNotExist" },
    ],
  }),
);

const repository: fc.Arbitrary<Repository> = fc
  .record({
    chain: blueprints,
    policies: fc.array(policy, { maxLength: 2 }),
    executors: fc.array(executor, { maxLength: 2 }),
  })
  .chain(({ chain, policies, executors }) => {
    const fleet = fc.record({
      selector,
      priority: fc.integer({ min: -5, max: 5 }),
      blueprint: fc.constantFrom(...chain.map(({ name }) => name)),
      parameters: values,
      version,
      rolloutPolicy: fc.constantFrom("default", ...policies.map((_, k) => `p${k}`)),
      update: fc.constantFrom("updater", ...executors.map((_, k) => `e${k}`)).map((name) => ({ executor: name })),
      labels,
    });
    const entry = fc.record({ labels, parameters: values, expected: fc.boolean() });
    return fc.record({
      things: fc
        .record({ fleets: fc.array(fleet, { minLength: 1, maxLength: 3 }), entries: fc.array(entry, { maxLength: 3 }) })
        .map(({ fleets: all, entries }): Thing[] => [
          ...chain,
          ...policies.map((spec, k) => ({ kind: "RolloutPolicy", name: `p${k}`, spec: spec as PlainMap })),
          ...executors.map((spec, k) => ({ kind: "Executor", name: `e${k}`, spec })),
          ...all.map(({ labels, ...spec }, k) => ({ kind: "Fleet", name: `f${k}`, labels, spec: given(spec) })),
          {
            kind: "Inventory",
            name: "hosts",
            spec: { entries: entries.map((it, k) => ({ host: `host-${k}`, ...it })) },
          },
        ]),
      samples: fc
        .array(fc.record({ attributes: labels, tokenLabels: labels }), { minLength: 1, maxLength: 3 })
        .map((all) =>
          all.map(({ attributes, tokenLabels }, k): PlainMap => ({
            name: `s${k}`,
            attributes: { ...attributes, "host.name": `HOST-${k}` },
            tokenLabels,
          })),
        ),
    });
  });

/** One way to write and lay out a repository. */
type Layout = { seed: number; perFile: number; style: "block" | "flow" | "json"; reverse: boolean };
const layout: fc.Arbitrary<Layout> = fc.record({
  seed: fc.nat(),
  perFile: fc.integer({ min: 1, max: 6 }),
  style: fc.constantFrom("block", "flow", "json"),
  reverse: fc.boolean(),
});

/** Deterministic disorder: sorted by a hash of seed and text. */
const shuffled = <T>(items: readonly T[], seed: number, textOf: (item: T) => string): T[] => {
  const rank = (item: T): string =>
    createHash("sha256")
      .update(`${seed} ${textOf(item)}`)
      .digest("hex");
  return items.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
};

function reordered(value: Plain, seed: number): Plain {
  if (Array.isArray(value)) return value.map((item) => reordered(item, seed));
  if (value === null || typeof value !== "object") return value;
  const entries = shuffled(Object.entries(value), seed, ([name]) => name);
  return Object.fromEntries(entries.map(([name, member]) => [name, reordered(member, seed)]));
}

function write(value: PlainMap, { style, seed }: Layout): string {
  const data = reordered(value, seed);
  if (style === "json") return `${JSON.stringify(data, null, seed % 3)}\n`;
  return stringify(data, {
    collectionStyle: style,
    aliasDuplicateObjects: false,
    lineWidth: 0,
    indent: 1 + (seed % 4),
    version: "1.2",
  });
}

const fileOf = (path: string, text: string): RepositoryFile => {
  const bytes = new TextEncoder().encode(text);
  return { path, mode: "100644", size: bytes.length, bytes };
};

function filesOf({ things, samples }: Repository, how: Layout): RepositoryFile[] {
  const documents = shuffled(things, how.seed, ({ kind, name }) => kind + name).map(({ kind, name, labels, spec }) =>
    write({ apiVersion: "myriarch.dev/v1alpha1", kind, metadata: given({ name, labels }), spec }, how),
  );
  const files: RepositoryFile[] = [];
  for (let at = 0; at < documents.length; at += how.perFile) {
    const folder = ["", "fleets/", "a/b/c/", "blueprints/"][(how.seed + at) % 4];
    files.push(
      fileOf(`${folder}o${at}.${at % 2 === 0 ? "yaml" : "yml"}`, documents.slice(at, at + how.perFile).join("---\n")),
    );
  }
  files.push(fileOf("samples/agents/all.yaml", samples.map((sample) => write(sample, how)).join("---\n")));
  return how.reverse ? files.toReversed() : files;
}

const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

/** The bytes of every fleet for every sample that it matches. */
function renderAll({ objects, samples }: Verdict): Record<string, string> {
  const snapshot = { objects };
  const texts = new Map<string, string>();
  for (const { name, agent } of samples) {
    const identity = identifier(snapshot, [agent])(agent);
    for (const fleet of fleets(snapshot).filter(({ spec }) => matches(spec.selector, identity.labels))) {
      const rendered = renderConfig(snapshot, fleet, agent, desiredVersion(fleet)?.version ?? "", sha256, identity);
      const hash = rendered.ok ? Buffer.from(rendered.hash).toString("hex") : rendered.code;
      texts.set(
        `${fleet.name} ${name}`,
        `${hash} ${rendered.ok ? new TextDecoder().decode(rendered.bytes) : rendered.message}`,
      );
    }
  }
  return Object.fromEntries([...texts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A failure prints its seed; on a slow machine there are fewer runs, and shrinking ends in time. */
const BOUNDS = { interruptAfterTimeLimit: 9_000 };

describe("any valid repository", () => {
  test("is accepted, and renders to the same bytes twice, in any order of keys, files and documents, in any style", () => {
    fc.assert(
      fc.property(repository, layout, layout, (repo, one, other) => {
        const first = validateRevision(filesOf(repo, one), DEFAULT_LIMITS);
        expect(first.issues.filter(isBlocking)).toEqual([]);
        expect(first.objects).toHaveLength(repo.things.length);
        const bytes = renderAll(first);
        expect(Object.values(bytes).every((text) => /^[0-9a-f]{64} /.test(text))).toBe(true);
        expect(renderAll(first)).toEqual(bytes);
        expect(renderAll(validateRevision(filesOf(repo, one), DEFAULT_LIMITS))).toEqual(bytes);
        expect(renderAll(validateRevision(filesOf(repo, other), DEFAULT_LIMITS))).toEqual(bytes);
      }),
      { numRuns: 120, ...BOUNDS },
    );
  });
});

type Corruption = { file: number; at: number; do: "insert" | "delete" | "replace" | "swap"; bytes: Uint8Array };
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const nasty = fc.constantFrom(
  ..."\0\t\r\n \u0085\u2028\ufeff\u007f\u0001:-?[]{},#&*!|>'\"%@`~<=.0x\\{%}$".split(""),
  "\r\n",
  "---\n",
  "...\n",
  "<<: ",
  "{{",
  "{%",
  "*a",
  "&a ",
  "!!x ",
);
const corruption: fc.Arbitrary<Corruption> = fc.record({
  file: fc.nat(),
  at: fc.nat(),
  do: fc.constantFrom("insert", "delete", "replace", "swap"),
  bytes: fc.oneof(
    nasty.map(utf8),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }).map(utf8),
    // half a surrogate pair as some editors write it, and bytes that are no text
    fc.constantFrom(
      Uint8Array.of(0xed, 0xa0, 0x80),
      Uint8Array.of(0xff),
      Uint8Array.of(0xc3),
      Uint8Array.of(0xf0, 0x9f),
    ),
  ),
});

function corrupt(files: readonly RepositoryFile[], { file, at, do: what, bytes }: Corruption): RepositoryFile[] {
  const index = file % files.length;
  return files.map((it, k) => {
    if (k !== index || it.bytes === undefined) return it;
    const old = [...it.bytes];
    const place = at % (old.length + 1);
    const [a, b] = [old[place], old[place + 1]];
    if (what === "insert") old.splice(place, 0, ...bytes);
    else if (what === "delete") old.splice(place, 1);
    else if (what === "replace") old.splice(place, 1, ...bytes);
    else if (a !== undefined && b !== undefined) old.splice(place, 2, b, a);
    return { ...it, size: old.length, bytes: Uint8Array.from(old) };
  });
}

/** Every issue stands within its file. */
function expectPlaces({ issues }: Verdict, files: readonly RepositoryFile[]): void {
  for (const issue of issues) {
    const bytes = files.find(({ path }) => path === issue.file)?.bytes;
    const lines = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).split("\n");
    expect(issue.line, JSON.stringify(issue)).toBeGreaterThanOrEqual(1);
    expect(issue.line, JSON.stringify(issue)).toBeLessThanOrEqual(lines.length);
    expect(issue.column, JSON.stringify(issue)).toBeGreaterThanOrEqual(1);
    expect(issue.column, JSON.stringify(issue)).toBeLessThanOrEqual((lines[issue.line - 1] ?? "").length + 1);
  }
}

/** Documents of object files that hold something, as the YAML library alone counts them. */
const countDocuments = (files: readonly RepositoryFile[]): number =>
  files
    .filter(({ path }) => isObjectFile(path))
    .flatMap(({ bytes }) => [
      ...parseAllDocuments(new TextDecoder().decode(bytes), { merge: true, logLevel: "silent" }),
    ])
    .filter((document) => "toJS" in document && document.toJS({ maxAliasCount: -1 }) !== null).length;

/** Of computing, so that a busy machine fails nothing. */
const MOST_CPU_US = 5_000_000;

describe("any corruption of one character of a valid repository", () => {
  test("is refused or valid, with places in the file, in bounded time; nothing is skipped or taken over in part", () => {
    const outcomes = { refused: 0, valid: 0 };
    fc.assert(
      fc.property(
        repository,
        layout,
        fc.array(corruption, { minLength: 10, maxLength: 10 }),
        (repo, how, corruptions) => {
          const good = filesOf(repo, how);
          for (const one of corruptions) {
            const files = corrupt(good, one);
            const start = process.cpuUsage();
            const verdict = validateRevision(files, DEFAULT_LIMITS);
            expect(process.cpuUsage(start).user).toBeLessThan(MOST_CPU_US);
            expectPlaces(verdict, files);
            const isRefused = verdict.issues.some(isBlocking);
            expect(applicable(verdict)).toBe(isRefused ? undefined : verdict.objects);
            if (!isRefused) expect(verdict.objects).toHaveLength(countDocuments(files));
            outcomes[isRefused ? "refused" : "valid"] += 1;
          }
        },
      ),
      { numRuns: 100, ...BOUNDS },
    );
    expect(Math.min(outcomes.refused, outcomes.valid)).toBeGreaterThan(0);
  });
});
