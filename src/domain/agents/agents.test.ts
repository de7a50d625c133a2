import { describe, expect, it } from "vitest";
import { classifyAgent } from "./classify.ts";
import { healthAfter, unhealthyComponents } from "./health-since.ts";
import { judgeOwnership, needsFullState, type Claim, type Owner } from "./identity.ts";
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

describe("what is missing is in the reason", () => {
  it.each([
    ["otelcol", 0x0002n, /reports_remote_config/],
    ["otelcol", 0x2845n, /accepts_remote_config/],
    ["myriarch-updater", 0x2801n, /does not accept packages/],
  ])("%s with %s", (name, capabilities, reason) => {
    expect(classifyAgent(name, capabilities).reason).toMatch(reason);
  });
  it("nothing is missing", () => {
    expect(classifyAgent("otelcol", 0x7807n).reason).toBe("it accepts remote configuration");
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
  const owner: Owner = {
    credential: "token:a",
    hostName: "WEB-01",
    sequence: 50n,
    startTimeNanos: 7n,
    held: "no",
  };
  const live: Owner = { ...owner, held: "here" };
  const away: Owner = { ...owner, held: "elsewhere" };
  const claim = (more: Partial<Claim> = {}): Claim => ({
    credential: "token:a",
    succeeds: [],
    hostName: undefined,
    sequence: 0n,
    described: false,
    ...more,
  });
  const fresh = { sequence: 0n, described: true, hostName: "web-01" };
  it.each([
    ["anybody under a new one", undefined, claim({ hostName: "x" }), "take"],
    ["its owner", owner, claim({ sequence: 51n }), "take"],
    ["its owner after the host was renamed", owner, claim({ ...fresh, hostName: "db-01" }), "take"],
    ["nobody with another credential", owner, claim({ credential: "token:b", ...fresh }), "rename"],
    ["nobody with another credential, live or not", live, claim({ credential: "token:b" }), "rename"],
    ["the successor of its credential", owner, claim({ credential: "token:b", succeeds: ["token:a"] }), "take"],
    ["not the predecessor of its credential", owner, claim({ credential: "token:0" }), "rename"],
    ["a reconnect of the same process", live, claim({ sequence: 51n }), "take"],
    ["a reconnect of the same process after losses", live, claim({ sequence: 60n }), "take"],
    [
      "a reconnect of the same process, now with another host name",
      live,
      claim({ sequence: 51n, hostName: "b" }),
      "take",
    ],
    ["a new process of the same host, in any case", live, claim(fresh), "take"],
    ["a new process that counts from one", live, claim({ ...fresh, sequence: 1n }), "take"],
    ["no clone on another host", live, claim({ ...fresh, hostName: "web-02" }), "rename"],
    ["no clone on another host, held by another process of ours", away, claim({ ...fresh, hostName: "c" }), "rename"],
    ["a host that reports no name", live, claim({ ...fresh, hostName: "" }), "take"],
  ] as const)("%s", (_, before, by, verdict) => {
    expect(judgeOwnership(before, by).do).toBe(verdict);
  });

  it("a successor moves the UID, and only once", () => {
    const by = claim({ credential: "token:b", succeeds: ["token:a"] });
    expect(judgeOwnership(owner, by)).toMatchObject({ do: "take", moved: true });
    expect(judgeOwnership({ ...owner, credential: "token:b" }, by)).toMatchObject({ do: "take", moved: false });
  });

  describe("two live processes with one UID and one host name", () => {
    /** The newcomer starts afresh and displaces the first, which comes back with its next number. */
    const displaced = () => {
      const verdict = judgeOwnership(live, claim(fresh));
      if (verdict.do !== "take") throw new Error(verdict.do);
      return verdict.rivalry;
    };
    const newcomer = (startTimeNanos: bigint, held: Owner["held"] = "here"): Owner => ({
      ...live,
      sequence: 2n,
      startTimeNanos,
      held,
    });
    const back = claim({ sequence: 51n });

    it("are a clone when they manage different collector processes: who came later gets a new UID", () => {
      expect(judgeOwnership(newcomer(8n), back, displaced()).do).toBe("rename_holder");
    });
    it("are a clone too where the later one is held by another process of ours: then the one at hand gets it", () => {
      expect(judgeOwnership(newcomer(8n, "elsewhere"), back, displaced()).do).toBe("rename");
    });
    it("are one supervisor with two sockets when both manage the same process: nobody is renamed", () => {
      expect(judgeOwnership(newcomer(7n), back, displaced()).do).toBe("park");
    });
    it("are tolerated a few times while nobody knows, then renamed", () => {
      let rivalry = displaced();
      const verdicts: string[] = [];
      // Each is the holder in turn, and each counts on.
      for (const [last, sequence] of [
        [2n, 51n],
        [51n, 3n],
        [3n, 52n],
      ] as const) {
        const verdict = judgeOwnership({ ...newcomer(0n), sequence: last }, claim({ sequence }), rivalry);
        verdicts.push(verdict.do);
        if (verdict.do === "take") rivalry = verdict.rivalry;
      }
      expect(verdicts).toEqual(["take", "take", "rename_holder"]);
    });
    it("show also when the one counts on exactly where the other is", () => {
      const rivalry = { sequence: 50n, startTimeNanos: 7n, returns: 0 };
      expect(judgeOwnership({ ...live, startTimeNanos: 8n }, back, rivalry).do).toBe("rename_holder");
    });
    it("show by a number that goes back", () => {
      const rivalry = { sequence: 3n, startTimeNanos: 8n, returns: 0 };
      expect(judgeOwnership(live, claim({ sequence: 50n }), rivalry).do).toBe("rename");
    });
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
