/** Random and damaged frames for two seconds, other ones in each run; the seed is said, and MYRIARCH_SEED repeats a run. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeAgentToServer, decodeServerToAgent, encodeAgentToServer, Malformed } from "./codec.ts";
import { isSameButTimes } from "./health-bytes.ts";
import type { AgentToServer, ComponentHealth } from "./messages.ts";
import { scanAgentToServer } from "./scan.ts";
import { uidFromBytes } from "./uid.ts";

const SEED = Number(process.env["MYRIARCH_SEED"] ?? Date.now() % 2 ** 31);
const LONG_MS = 2_000;

const component = (depth: number): ComponentHealth => ({
  healthy: depth % 2 === 0,
  startTimeUnixNano: 1n,
  lastError: depth === 0 ? "ü" : "",
  status: "StatusOK",
  statusTimeUnixNano: BigInt(depth + 1),
  componentHealthMap: new Map(depth === 0 ? [] : [[`receiver:otlp/${depth}`, component(depth - 1)]]),
});
const full: AgentToServer = {
  instanceUid: "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5061",
  sequenceNum: 300n,
  capabilities: 0x7fffn,
  flags: 1n,
  agentDescription: {
    identifyingAttributes: new Map([["service.name", "otelcol"]]),
    nonIdentifyingAttributes: new Map([["list", ["a", 1n, 0.5, new Map([["b", true]])]]]),
  },
  health: component(4),
  effectiveConfig: { configMap: new Map([["", { body: Buffer.from("a: 1\n"), contentType: "text/yaml" }]]) },
  remoteConfigStatus: { lastRemoteConfigHash: Buffer.of(1, 2), status: 3, errorMessage: "no" },
};
const frames = [
  full,
  { instanceUid: full.instanceUid, sequenceNum: 7n, capabilities: 1n, flags: 0n, health: component(3) },
].map((message) => Buffer.from(encodeAgentToServer(message)));

const damaged = fc
  .record({
    frame: fc.constantFrom(...frames),
    changes: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 8 }),
    cut: fc.nat(300),
    doubled: fc.tuple(fc.nat(), fc.nat(40)),
  })
  .map(({ frame, changes, cut, doubled: [from, length] }) => {
    const start = from % frame.length;
    const twice = Buffer.concat([frame.subarray(0, start + length), frame.subarray(start)]);
    const copy = Buffer.from(twice.subarray(0, cut > 150 ? undefined : Math.max(1, twice.length - cut)));
    for (const [at, value] of changes) copy[at % copy.length] = value;
    return copy;
  });

function read(frame: Uint8Array): AgentToServer | undefined {
  try {
    return decodeAgentToServer(frame);
  } catch (error) {
    expect(error).toBeInstanceOf(Malformed);
    return undefined;
  }
}

/** What the scan says of a frame that the decoder takes is what the decoder says. */
function check(frame: Uint8Array): void {
  const message = read(frame);
  try {
    decodeServerToAgent(frame);
  } catch (error) {
    expect(error).toBeInstanceOf(Malformed);
  }
  const scan = scanAgentToServer(frame);
  for (const other of frames) isSameButTimes(other, Buffer.from(frame));
  isSameButTimes(Buffer.from(frame), Buffer.from(frame));
  if (message === undefined || scan === undefined || !scan.plain || scan.uidAt < 0) return;
  expect(uidFromBytes(frame.subarray(scan.uidAt, scan.uidAt + 16))).toBe(message.instanceUid);
  expect(BigInt(scan.sequenceNum ?? -1)).toBe(message.sequenceNum);
  expect(BigInt(scan.capabilities ?? -1)).toBe(message.capabilities);
  expect(scan.healthAt >= 0).toBe(message.health !== undefined);
}

it("whatever bytes arrive, they are a message or Malformed; scan and decoder agree; nothing is kept of them", () => {
  console.info(`fuzz seed ${SEED}`);
  const before = process.memoryUsage().rss;
  fc.assert(fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 300 })), check), {
    seed: SEED,
    numRuns: 1_000_000,
    interruptAfterTimeLimit: LONG_MS,
  });
  expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 ** 2);
});
