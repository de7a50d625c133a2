import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { compareConfig } from "./config-compare.ts";
import { availableNames, needsOf } from "./config-needs.ts";
import { configState, UNANSWERED_MS, type ConfigFacts } from "./config-state.ts";
import { QUIET, worthARow } from "./connection-history.ts";
import { judgeHealth, pipelinesOf } from "./judge-health.ts";
import { MASK, redactConfig } from "./redact-config.ts";

const SENT = `
receivers: {otlp: {protocols: {grpc: null, http: {endpoint: "0.0.0.0:4318"}}}}
processors: {batch: {timeout: 90s}}
exporters:
  debug: {verbosity: detailed}
  otlphttp:
    endpoint: "https://\${env:USER}:\${env:PASS}@backend.example.com"
    headers: {Authorization: "Bearer \${env:TOKEN}", x-scope: ours}
extensions: {health_check: {}}
service:
  extensions: [health_check]
  pipelines: {traces: {receivers: [otlp], processors: [batch], exporters: [debug, otlphttp]}}
`;
const EFFECTIVE = `
receivers: {otlp: {protocols: {grpc: {endpoint: "localhost:4317", keepalive: null}, http: {endpoint: "0.0.0.0:4318"}}}}
processors: {batch: {timeout: 1m30s, send_batch_size: 8192}}
exporters:
  debug: {verbosity: Detailed, sampling_initial: 2}
  otlphttp:
    endpoint: "https://u:planted-pass@backend.example.com"
    headers: [{name: Authorization, value: "Bearer planted-token"}, {name: X-Scope, value: "[REDACTED]"}]
    timeout: 30s
extensions:
  health_check: {endpoint: "localhost:13133"}
  opamp: {ppid: 4711, server: {ws: {endpoint: "ws://127.0.0.1:36121/v1/opamp", headers: []}}}
service:
  extensions: [health_check, opamp]
  telemetry: {resource: {host.name: web-01}, logs: {level: info}}
  pipelines: {traces: {receivers: [otlp], processors: [batch], exporters: [debug, otlphttp]}}
`;

describe("drift", () => {
  const paths = (sent: string, effective: string) =>
    compareConfig(parse(sent), parse(effective)).differences.map(({ path }) => path);

  it("is not what a collector adds, rewrites, expands or hides", () => {
    expect(paths(SENT, EFFECTIVE)).toEqual([]);
  });
  it("the projection is what was sent when nothing differs", () => {
    expect(compareConfig(parse(SENT), parse(EFFECTIVE)).projection).toEqual(parse(SENT));
  });
  it.each([
    ["another value", "a: {b: 1}", "a: {b: 2}", ["a.b"]],
    ["a member that is gone", "a: {b: 1}", "a: {c: 1}", ["a.b"]],
    ["a shorter list", "a: [x, y]", "a: [x]", ["a"]],
    ["another element", "a: [x, y]", "a: [x, z]", ["a.1"]],
    ["a component that is gone", "exporters: {debug: {}}", "exporters: {}", ["exporters.debug"]],
    [
      "an extension that is gone",
      "service: {extensions: [a]}",
      "service: {extensions: [opamp]}",
      ["service.extensions"],
    ],
    ["another duration", "t: 10s", "t: 10m", ["t"]],
    ["another header", "headers: {a: x}", "headers: [{name: a, value: y}]", ["headers.a"]],
    ["a map in place of a value", "a: x", "a: {x: 1}", ["a"]],
    ["a flag", "a: true", "a: false", ["a"]],
    ["nothing: a number as text", "a: 5", 'a: "5"', []],
    ["nothing: the same duration", "t: 3600s", "t: 1h0m0s", []],
    ["nothing: a map of defaults for nothing", "a: null", "a: {b: 1}", []],
    ["nothing: a whole part from a file", 'a: "${file:/x.yaml}"', "a: {b: [1]}", []],
    ["a dollar sign that is no expression", 'a: "$${x}"', 'a: "$${y}"', ["a"]],
    ["nothing: a list of headers sent, a map run", "h: [{key: a, value: x}]", "h: {a: x}", []],
  ])("%s", (_, sent, effective, expected) => {
    expect(paths(sent, effective)).toEqual(expected);
  });
  it("whatever is sent and run as it is does not drift", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(compareConfig({ exporters: { a: value } }, { exporters: { a: value } }).differences).toEqual([]);
      }),
    );
  });
  it("keys like __proto__ are keys", () => {
    const hostile: unknown = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"x": 1}}');
    expect(compareConfig(hostile, hostile).differences).toEqual([]);
    expect(redactConfig(hostile, [hostile])).toEqual(hostile);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("a redacted effective configuration", () => {
  const shown = (effective: string, ...sent: string[]): string =>
    JSON.stringify(
      redactConfig(
        parse(effective),
        sent.map((text) => parse(text) as unknown),
      ),
    );

  it("shows leaves as sent whose sent value held an expression, in whatever form they come back", () => {
    const text = shown(EFFECTIVE, SENT);
    expect(text).not.toContain("planted");
    expect(text).toContain("https://${env:USER}:${env:PASS}@backend.example.com");
    expect(text).toContain('{"name":"Authorization","value":"Bearer ${env:TOKEN}"}');
    expect(text).toContain("0.0.0.0:4318");
  });
  it.each([
    ["a token", "exporters: {x: {token: planted}}"],
    ["a password in a list", "x: {passwords: [planted]}"],
    ["a key of an API", "x: {api_key: planted, apiKey: planted}"],
    ["a header in a map", "headers: {authorization: planted}"],
    ["a header in a list", "headers: [{name: authorization, value: planted}]"],
    ["a header in a list of keys", "headers: [{key: X-Auth-Token, value: planted}]"],
    ["credentials in a URL", "endpoint: https://u:planted@h/p"],
    ["a token in a query", "endpoint: https://h/p?access_token=planted&x=1"],
    ["a bearer in any text", 'x: "send Bearer planted-abc now"'],
    ["what lies below a secret key", "secret: {a: {b: [planted]}}"],
    ["a credential in deep", "receivers: {sql: {datasource: {credentials: {user: planted}}}}"],
  ])("masks %s without anything sent", (_, effective) => {
    expect(shown(effective)).not.toContain("planted");
    expect(shown(effective)).toContain(MASK);
  });
  it("does not mask what only sounds like a secret", () => {
    const plain = "extensions: {bearertokenauth: {scheme: Bearer, filename: /etc/token}}\ntoken_file: /etc/t\nmax: 5";
    expect(shown(plain)).not.toContain(MASK);
  });
  it("what an expression came to is masked wherever else it stands", () => {
    const text = shown("a: planted-secret\nb: {c: 'x planted-secret y'}", 'a: "${env:S}"');
    expect(text).not.toContain("planted-secret");
    expect(text).toContain("${env:S}");
  });
  it("a part whose form does not fit what was sent is masked where an expression stood in it", () => {
    expect(shown("a: [planted, planted]", 'a: ["${env:S}"]')).not.toContain("planted");
    expect(shown("a: planted", 'a: {b: "${env:S}"}')).not.toContain("planted");
  });
  it("an older configuration counts too", () => {
    expect(shown("x: planted", "x: fixed", 'x: "${env:S}"')).not.toContain("planted");
  });
});

describe("what a configuration needs", () => {
  it("every defined component by its type, and the pipelines", () => {
    const needs = needsOf(
      parse(
        "receivers: {otlp/a: {}, otlp/b: {}}\nexporters: {otlphttp: {}}\nservice: {pipelines: {traces: {}, logs/2: {}}}",
      ),
    );
    expect(needs).toEqual({ components: ["exporters/otlphttp", "receivers/otlp"], pipelines: ["logs/2", "traces"] });
    expect(needsOf(null)).toEqual({ components: [], pipelines: [] });
    expect(needsOf([1])).toEqual({ components: [], pipelines: [] });
  });
  it("a build's names are kept in one spelling, renamed components under both names", () => {
    expect(availableNames(new Map([["exporters", ["otlp_http", "otlp_grpc"]]]))).toEqual([
      "exporters/otlp",
      "exporters/otlpgrpc",
      "exporters/otlphttp",
    ]);
    expect(availableNames(new Map([["exporters", ["otlp"]]]))).toContain("exporters/otlpgrpc");
    expect(availableNames(new Map([["receivers", ["otlp"]]]))).toEqual(["receivers/otlp"]);
  });
});

describe("healthy", () => {
  const facts = {
    healthy: true,
    pipelines: ["traces"],
    expected: ["traces"],
    version: "1.0.0",
    wantedVersion: "1.0.0",
  };
  it.each([
    ["as it should be", {}, true],
    ["not healthy", { healthy: false }, false],
    ["another version", { version: "0.9.0" }, false],
    ["any version when none is wanted", { version: "0.9.0", wantedVersion: null }, true],
    ["no collector at all: an empty map", { pipelines: [] }, false],
    ["a pipeline that does not run", { expected: ["traces", "logs"] }, false],
    ["one more pipeline than it should run", { pipelines: ["logs", "traces"] }, true],
    ["nothing known of pipelines", { pipelines: null, expected: null }, true],
    ["a configuration of its own", { expected: null }, true],
  ])("%s", (_, change, ok) => {
    expect(judgeHealth({ ...facts, ...change }).ok).toBe(ok);
  });
  it("pipelines are read from the names of the health report", () => {
    expect(pipelinesOf(["extensions", "pipeline:traces", "pipeline:logs/2"])).toEqual(["logs/2", "traces"]);
  });
});

describe("the state of a configuration", () => {
  const facts: ConfigFacts = {
    receivedHash: "b",
    status: 1,
    error: "",
    sentHash: "b",
    sentAtMs: 0,
    sentBy: "offer",
    failedHash: null,
    failedError: "",
    effectiveOf: null,
    missing: null,
  };
  const late = UNANSWERED_MS;
  it.each([
    ["none", { receivedHash: null, sentHash: null, status: 0 }, 0, "none"],
    ["sent and not answered", { receivedHash: "a" }, 1_000, "sent"],
    ["never answered", { receivedHash: "a" }, late, "unanswered"],
    ["never answered, but it runs", { receivedHash: "a", effectiveOf: "b" }, late, "applied"],
    ["applying", { status: 2 }, 0, "applying"],
    ["applied", {}, 0, "applied"],
    ["failed", { status: 3, error: "exit code 1", failedHash: "b", failedError: "exit code 1" }, 0, "failed"],
    ["returned by the agent", { receivedHash: "a", failedHash: "b", failedError: "no" }, 0, "returned"],
    ["taken back", { receivedHash: "a", sentHash: "a", sentBy: "take_back", failedHash: "b" }, 0, "returned"],
    ["good again after an older failure", { failedHash: "x" }, 0, "applied"],
    ["received in a way that is not known", { status: 9 }, 0, "sent"],
    ["not for this build", { missing: ["receivers/kafka"] }, 0, "incompatible"],
  ] as const)("%s", (_, change, nowMs, state) => {
    expect(configState({ ...facts, ...change }, nowMs).state).toBe(state);
  });
  it("who took it back is told, and why", () => {
    const returned = { ...facts, receivedHash: "a", failedHash: "b", failedError: "no such exporter" };
    expect(configState(returned, 0)).toMatchObject({ by: "agent", text: expect.stringContaining("no such exporter") });
  });
});

describe("connection history", () => {
  const at = (ms: number, event: "connected" | "disconnected") => ({ at: new Date(ms), event, detail: "x" });
  const names = (rows: { event: string }[]) => rows.map(({ event }) => event);
  it("has changes only", () => {
    expect(names(worthARow([at(0, "connected")], QUIET).rows)).toEqual(["connected"]);
    expect(names(worthARow([at(0, "disconnected"), at(1, "connected")], QUIET).rows)).toEqual([]);
    expect(names(worthARow([at(0, "disconnected"), at(1, "connected"), at(2, "disconnected")], QUIET).rows)).toEqual([
      "disconnected",
    ]);
  });
  it("says once that an agent flaps, until it is quiet", () => {
    let state = QUIET;
    const rows: string[] = [];
    for (let i = 0; i < 40; i++) {
      const { rows: more, after } = worthARow([at(i * 1_000, i % 2 === 0 ? "connected" : "disconnected")], state);
      rows.push(...names(more));
      state = after;
    }
    expect(rows.filter((event) => event === "flapping")).toHaveLength(1);
    expect(rows).toHaveLength(7);
    expect(names(worthARow([at(200_000, "connected")], state).rows)).toEqual(["connected"]);
  });
});
