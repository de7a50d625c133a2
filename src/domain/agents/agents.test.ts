import { describe, expect, it } from "vitest";
import { classifyAgent } from "./classify.ts";
import { healthAfter, unhealthyComponents } from "./health-since.ts";
import { judgeOwnership, needsFullState } from "./identity.ts";
import { mayLeave, tokenIsHalfSpent, type OfferDirection } from "./offer-gate.ts";
import type { Holds } from "../rollout/holds.ts";

describe("classification", () => {
  it.each([
    ["myriarch-updater", 0x2819n, "updater"],
    ["myriarch-updater", 0x2n, "updater"],
    ["myriarch-updater", 0n, "updater"],
    ["otelcol-contrib", 0x7807n, "collector"],
    ["otelcol-contrib", 0x2845n, "unknown"],
    ["Myriarch-Updater", 0x8n, "unknown"],
    ["some-agent-with-packages", 0x18n, "unknown"],
    ["", 0x2n, "collector"],
    ["", 0n, "unknown"],
  ] as const)("%s with %s is %s, with a reason", (name, capabilities, kind) => {
    expect(classifyAgent(name, capabilities).kind).toBe(kind);
    expect(classifyAgent(name, capabilities).reason).not.toBe("");
  });
});

describe("healthy since", () => {
  const [t0, t1] = [1_000, 2_000];
  const unwell = { healthy: false, healthySince: null, startTimeNanos: 1n };
  const well = { healthy: true, healthySince: t0, startTimeNanos: 1n };
  it.each([
    ["begins with the first healthy report", unwell, { healthy: true, startTimeUnixNano: 1n }, t1],
    ["stays over equal reports", well, { healthy: true, startTimeUnixNano: 1n }, t0],
    ["begins again with a new start time", well, { healthy: true, startTimeUnixNano: 2n }, t1],
    ["ends with an unhealthy report", well, { healthy: false, startTimeUnixNano: 1n }, null],
    ["begins again after it ended", { ...unwell, startTimeNanos: 2n }, { healthy: true, startTimeUnixNano: 2n }, t1],
  ])("%s", (_, before, report, since) => {
    const after = healthAfter(before, report, t1);
    expect(after.healthySince).toEqual(since);
    expect(after).toMatchObject({ healthy: report.healthy, startTimeNanos: report.startTimeUnixNano });
  });

  it("unhealthy components are named by their way, sorted and bounded", () => {
    const part = (healthy: boolean, children: Record<string, ReturnType<typeof leaf>> = {}) => ({
      healthy,
      componentHealthMap: new Map(Object.entries(children)),
    });
    const leaf = (healthy: boolean) => ({ healthy, componentHealthMap: new Map() });
    const root = part(false, {
      "pipeline:traces": part(false, { "receiver:otlp": leaf(false), "exporter:x": leaf(true) }),
      a: leaf(false),
    });
    expect(unhealthyComponents(root)).toEqual(["a", "pipeline:traces", "pipeline:traces/receiver:otlp"]);
    expect(unhealthyComponents(root, 1)).toEqual(["a"]);
  });
});

describe("full state is asked for", () => {
  it.each([
    ["of an unknown agent that goes on counting", undefined, 7n, false, true],
    ["of an unknown agent that changed its name", undefined, 7n, true, true],
    ["of an unknown agent that describes nothing", undefined, 0n, false, true],
    ["not of a new process that tells everything", undefined, 0n, true, false],
    ["not of a known agent whose process is new", 12n, 0n, true, false],
    ["of a known agent whose process is new and tells nothing", 12n, 0n, false, true],
    ["not of the next message, over whatever connection", 12n, 13n, false, false],
    ["after a gap", 12n, 14n, false, true],
    ["after a gap, even with a description", 12n, 14n, true, true],
    ["after a step back", 12n, 11n, false, true],
    ["after the same number again", 12n, 12n, false, true],
  ])("%s", (_, last, got, described, ask) => {
    expect(needsFullState(last, got, described)).toBe(ask);
  });
});

describe("who may speak under a UID", () => {
  const owner = { credential: "token:a", hostName: "WEB-01", connectedElsewhere: false };
  const live = { ...owner, connectedElsewhere: true };
  it.each([
    ["anybody under a new one", undefined, { credential: "token:a", hostName: "x" }, "accept"],
    ["its owner", owner, { credential: "token:a", hostName: undefined }, "accept"],
    ["its owner after the host was renamed", owner, { credential: "token:a", hostName: "db-01" }, "accept"],
    ["nobody with another credential", owner, { credential: "token:b", hostName: "WEB-01" }, "rename"],
    ["nobody with another credential, live or not", live, { credential: "token:b", hostName: undefined }, "rename"],
    ["a reconnect of the same process", live, { credential: "token:a", hostName: undefined }, "take_over"],
    [
      "a second connection of the same host, in any case",
      live,
      { credential: "token:a", hostName: "web-01" },
      "take_over",
    ],
    ["no clone on another host", live, { credential: "token:a", hostName: "web-02" }, "rename"],
    ["a host that reports no name", live, { credential: "token:a", hostName: "" }, "take_over"],
  ] as const)("%s", (_, before, claim, verdict) => {
    expect(judgeOwnership(before, claim).do).toBe(verdict);
  });
});

describe("the gate of an offer", () => {
  const by = { at: "", by: "", reason: "" };
  const HOLDS: Record<string, Holds> = {
    none: {},
    operator: { operator: by },
    threshold: { threshold: by },
    revoked: { revoked: by },
  };
  // Rows: direction. Columns: no hold, operator, threshold, revoked, then no hold while the rollout is ending.
  const TABLE: Record<OfferDirection, [boolean, boolean, boolean, boolean, boolean]> = {
    forward: [true, false, false, false, false],
    back: [true, false, false, true, true],
    take_back: [true, true, true, true, true],
    withdraw: [true, true, true, true, true],
  };
  it.each(Object.entries(TABLE) as [OfferDirection, boolean[]][])("%s", (direction, expected) => {
    const cells = ["none", "operator", "threshold", "revoked"].map((hold) =>
      mayLeave({ direction, holds: HOLDS[hold] ?? {}, ending: false, sentBefore: false }),
    );
    const ending = mayLeave({ direction, holds: {}, ending: true, sentBefore: false });
    expect([...cells, ending]).toEqual(expected);
  });
  it("one that was sent before may be repeated: the host may have begun it", () => {
    expect(mayLeave({ direction: "forward", holds: HOLDS["operator"] ?? {}, ending: true, sentBefore: true })).toBe(
      true,
    );
  });
  it.each([
    [0, 1_000, 499, false],
    [0, 1_000, 500, true],
    [0, 0, 10 ** 9, false],
  ])("a token minted at %i with a life of %i is half spent at %i: %s", (at, ttl, now, spent) => {
    expect(tokenIsHalfSpent(at, ttl, now)).toBe(spent);
  });
});
