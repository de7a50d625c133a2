import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { decodeServerToAgent, encodeServerToAgent } from "../../protocol/codec.ts";
import type { AgentToServer, AnyValue } from "../../protocol/messages.ts";
import type { OpenOffer } from "../../store/offers-delivery.ts";
import { admit, freshQuota } from "./accept-quota.ts";
import { applyReport, blankRecord } from "./apply-report.ts";
import { packageMessage, sendableOf } from "./offer-message.ts";
import { plainReply } from "./plain-way.ts";
import { createSeal } from "./seal.ts";
import { seededChance } from "../../../test/support/seeded-chance.ts";

const UID = "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5061";

describe("the accept quota", () => {
  /** Seconds until all of them are in, when each comes back as it was told; `knocks` counts how often they asked. */
  function storm(agents: number, perSecond: number, patience: (seconds: number, chance: number) => number) {
    const random = seededChance(20261130);
    const queue = Array.from({ length: agents }, () => random() * 1000).toSorted((a, b) => a - b);
    let quota = freshQuota(perSecond, 0);
    let knocks = 0;
    let lastMs = 0;
    for (let atMs = queue.shift(); atMs !== undefined; atMs = queue.shift()) {
      const admission = admit(quota, perSecond, atMs, random());
      quota = admission.quota;
      knocks++;
      lastMs = atMs;
      if (admission.admitted) continue;
      const again = atMs + 1000 * patience(admission.retryAfterS, random());
      const place = queue.findIndex((other) => other > again);
      queue.splice(place === -1 ? queue.length : place, 0, again);
    }
    return { seconds: lastMs / 1000, knocks };
  }

  it("lets a burst of one second in, and promises the others the seconds to come", () => {
    let quota = freshQuota(10, 0);
    const waits: number[] = [];
    for (let i = 0; i < 110; i++) {
      const admission = admit(quota, 10, 0, 0.99);
      quota = admission.quota;
      if (!admission.admitted) waits.push(admission.retryAfterS);
    }
    expect(waits).toHaveLength(100);
    expect(waits[0]).toBeLessThan(4);
    expect(waits.at(-1)).toBe(11);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(admit({ tokens: 0, promised: 0, atMs: 0 }, 10, 100, 0).admitted).toBe(true);
  });
  it.each([
    ["as long as they are told", (seconds: number) => seconds],
    ["up to half as long again", (seconds: number, chance: number) => seconds * (1 + chance / 2)],
  ])("has a storm of 2,000 inside soon, when agents wait %s", (_, patience) => {
    const { seconds, knocks } = storm(2_000, 200, patience);
    expect(seconds).toBeLessThan(20); // 10 are needed
    expect(knocks).toBeLessThan(3 * 2_000);
  });
  it("sends nobody away for more than a minute, and who is refused takes no place", () => {
    const storming = { tokens: 0, promised: 600, atMs: 0 };
    const refused = admit(storming, 10, 0, 0.99);
    expect(refused).toMatchObject({ admitted: false, retryAfterS: 60 });
    expect(admit(refused.quota, 10, 100, 0).admitted).toBe(true);
  });
  it("a clock that is set back shuts nobody out", () => {
    const before = { tokens: 5, promised: 0, atMs: 3_600_000 };
    expect(admit(before, 10, 0, 0)).toEqual({ admitted: true, quota: { tokens: 4, promised: 0, atMs: 0 } });
  });
});

describe("sealing", () => {
  const [a, b] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const plain = Buffer.from("receivers: {password: planted-secret}");
  it("hides the bytes and opens them with either key of a rotation", () => {
    const sealed = createSeal([a]).seal(plain);
    expect(sealed.includes("planted-secret")).toBe(false);
    expect(createSeal([b, a]).open(sealed)?.equals(plain)).toBe(true);
  });
  it("the same bytes are never sealed the same", () => {
    expect(
      createSeal([a])
        .seal(plain)
        .equals(createSeal([a]).seal(plain)),
    ).toBe(false);
  });
  it("does not open what another key sealed or somebody changed", () => {
    const sealed = createSeal([a]).seal(plain);
    const changed = Buffer.from(sealed);
    changed[changed.length - 1] = (changed[changed.length - 1] ?? 0) ^ 1;
    for (const bad of [changed, sealed.subarray(0, 20), Buffer.of(9, ...sealed.subarray(1)), Buffer.alloc(0)])
      expect(createSeal([a]).open(bad)).toBeUndefined();
    expect(createSeal([b]).open(sealed)).toBeUndefined();
  });
});

describe("what an offer becomes on the wire", () => {
  const artifact = {
    id: "0190a1b2-0000-7000-8000-000000000001",
    fileName: "a b.tar.gz",
    sha256: Buffer.alloc(32, 3),
    bundle: "{}",
  };
  const offer = (more: Partial<OpenOffer> = {}): OpenOffer => ({
    id: "x",
    kind: "package",
    direction: "forward",
    fleet: "f",
    n: 1,
    version: "0.162.0",
    configHash: null,
    body: null,
    packagesHash: createHash("sha256").update("set").digest(),
    artifact,
    sentAt: null,
    tokenAt: null,
    holds: {},
    ending: null,
    ...more,
  });

  it("is the same for every token and time except token and URL", () => {
    const what = sendableOf(offer());
    if (what?.kind !== "package") throw new Error("no package");
    const [one, two] = ["t1", "t2"].map((token) => packageMessage(UID, what, { base: "http://h", token }));
    const strip = (m: typeof one) =>
      JSON.stringify(
        Array.from(
          decodeServerToAgent(encodeServerToAgent(m ?? packageMessage(UID, what, { base: "", token: "" })))
            .packagesAvailable?.packages ?? [],
        ),
      ).replaceAll(/t[12]/g, "T");
    expect(strip(one)).toBe(strip(two));
    expect(one?.packagesAvailable?.packages.get("")?.file?.downloadUrl).toBe(
      `http://h/api/v1/artifacts/${artifact.id}/content/a%20b.tar.gz`,
    );
  });

  it.each([
    ["a withdrawal without an artifact", { kind: "withdraw" as const, artifact: null }],
    ["a package without a hash of the set", { packagesHash: Buffer.alloc(0) }],
    ["a package without a version", { version: null }],
    [
      "a configuration with an empty body",
      { kind: "config" as const, configHash: Buffer.of(1), body: Buffer.alloc(0) },
    ],
    [
      "a configuration with an empty hash",
      { kind: "config" as const, configHash: Buffer.alloc(0), body: Buffer.of(1) },
    ],
  ])("%s is nothing to send", (_, more) => {
    expect(sendableOf(offer(more))).toBeUndefined();
  });
});

describe("reports", () => {
  const now = new Date("2026-11-29T00:00:00Z");
  const record = () => blankRecord(UID, { name: "token:a", labels: {} }, now);
  const message = (attributes: [string, AnyValue][], more: Partial<AgentToServer> = {}): AgentToServer => ({
    instanceUid: UID,
    sequenceNum: 0n,
    capabilities: 0x2n,
    flags: 0n,
    agentDescription: { identifyingAttributes: new Map(attributes), nonIdentifyingAttributes: new Map() },
    ...more,
  });

  it.each([
    ["v0.162.0", "0.162.0"],
    ["0.162.0", "0.162.0"],
    ["v0.162.0-rc.1", "0.162.0-rc.1"],
    ["dev", "dev"],
    ["v1", "1"],
  ])("the version %s is kept as %s", (text, version) => {
    const it = record();
    applyReport(it, message([["service.version", text]]), now);
    expect(it.version).toBe(version);
  });

  it.each([
    ["linux", "x86_64", "linux", "amd64"],
    ["linux", "aarch64", "linux", "arm64"],
    ["windows", "amd64", "windows", "amd64"],
    ["plan9", "mips", "plan9", "mips"],
  ])("the platform %s/%s is %s/%s in Go's names", (os, arch, goOs, goArch) => {
    const it = record();
    applyReport(
      it,
      message([
        ["os.type", os],
        ["host.arch", arch],
      ]),
      now,
    );
    expect([it.os, it.arch]).toEqual([goOs, goArch]);
  });

  it("bounds what a hostile agent says", () => {
    const it = record();
    const deep: AnyValue = Array.from({ length: 300 }, () => Array.from({ length: 300 }, () => "x".repeat(50)));
    applyReport(
      it,
      message([
        ["host.name", "h".repeat(9_999)],
        ["deep", deep],
        ["n", 2n ** 63n - 1n],
        ["nan", Number.NaN],
      ]),
      now,
    );
    expect(it.hostName).toHaveLength(255);
    expect(JSON.stringify(it.attributes).length).toBeLessThan(70_000);
  });

  it("keeps keys like __proto__ as ordinary attributes", () => {
    const it = record();
    applyReport(
      it,
      message([
        ["__proto__", "x"],
        ["constructor", "y"],
      ]),
      now,
    );
    expect(JSON.parse(JSON.stringify(it.attributes))).toEqual(JSON.parse('{"__proto__":"x","constructor":"y"}'));
  });

  it("a UID of the collector in any case is read, garbage is none", () => {
    const key = "dev.myriarch.collector.instance_uid";
    const it = record();
    applyReport(it, message([[key, UID.toUpperCase()]]), now);
    expect(it.collectorUid).toBe(UID);
    applyReport(it, message([[key, "'; drop table agents"]]), now);
    expect(it.collectorUid).toBeNull();
  });

  it("tells a mere sign of life from a change", () => {
    const it = record();
    applyReport(it, message([]), now);
    const beat: AgentToServer = { instanceUid: UID, sequenceNum: 1n, capabilities: 0x2n, flags: 0n };
    expect(applyReport(it, beat, now)).toEqual({ any: false, identity: false });
    expect(applyReport(it, { ...beat, capabilities: 0n }, now)).toEqual({ any: true, identity: true });
    expect(it.kind).toBe("unknown");
  });
});

it("the shortest answer is an answer", () => {
  expect(decodeServerToAgent(plainReply(UID))).toEqual({ instanceUid: UID, flags: 0n, capabilities: 0n });
});
