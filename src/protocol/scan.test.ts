import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeAgentToServer, decodeHealth, encodeAgentToServer, encodeHealth } from "./codec.ts";
import type { AgentToServer } from "./messages.ts";
import { scanAgentToServer } from "./scan.ts";
import { uidFromBytes } from "./uid.ts";

const UID = "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5061";
const health = {
  healthy: true,
  startTimeUnixNano: 1n,
  lastError: "",
  status: "StatusOK",
  statusTimeUnixNano: 2n,
  componentHealthMap: new Map(),
};

describe("the scan of a frame", () => {
  it("finds what a heartbeat says", () => {
    const frame = encodeAgentToServer({ instanceUid: UID, sequenceNum: 300n, capabilities: 0x2819n, flags: 0n });
    const scan = scanAgentToServer(frame);
    expect(scan).toMatchObject({ plain: true, sequenceNum: 300, capabilities: 0x2819, healthAt: -1 });
    expect(uidFromBytes(frame.subarray(scan?.uidAt, (scan?.uidAt ?? 0) + 16))).toBe(UID);
  });

  it("finds a health report as it lies there", () => {
    const frame = encodeAgentToServer({ instanceUid: UID, sequenceNum: 1n, capabilities: 1n, flags: 0n, health });
    const scan = scanAgentToServer(frame);
    expect(scan?.plain).toBe(true);
    const raw = frame.subarray(scan?.healthAt, scan?.healthEnd);
    expect(decodeHealth(raw)).toEqual(health);
    expect(Buffer.from(raw)).toEqual(Buffer.from(encodeHealth(health)));
  });

  it.each<[string, Partial<AgentToServer>]>([
    ["a flag", { flags: 1n }],
    ["a goodbye", { agentDisconnect: true }],
    ["an empty list of custom capabilities", { customCapabilities: [] }],
    [
      "a status of a configuration",
      { remoteConfigStatus: { lastRemoteConfigHash: Buffer.of(1), status: 1, errorMessage: "" } },
    ],
  ])("leaves a message with %s to the decoder", (_, more) => {
    const frame = encodeAgentToServer({ instanceUid: UID, sequenceNum: 1n, capabilities: 1n, flags: 0n, ...more });
    expect(scanAgentToServer(frame)?.plain).toBe(false);
  });

  it("never calls a number exact that is not", () => {
    const frame = encodeAgentToServer({ instanceUid: UID, sequenceNum: 2n ** 60n, capabilities: 1n, flags: 0n });
    expect(scanAgentToServer(frame)).toBeUndefined();
  });

  it("agrees with the decoder about everything that it calls plain", () => {
    const base = encodeAgentToServer({ instanceUid: UID, sequenceNum: 77n, capabilities: 0x2819n, flags: 0n, health });
    const damaged = fc
      .tuple(fc.array(fc.tuple(fc.nat(base.length - 1), fc.nat(255)), { maxLength: 4 }), fc.nat(8))
      .map(([changes, cut]) => {
        const copy = Buffer.from(base.subarray(0, base.length - cut));
        for (const [at, value] of changes) copy[at % copy.length] = value;
        return copy;
      });
    fc.assert(
      fc.property(damaged, (frame) => {
        const scan = scanAgentToServer(frame);
        if (scan === undefined || !scan.plain || scan.uidAt < 0 || (frame[0] !== 0 && frame[0] !== 0x0a)) return;
        let message: AgentToServer;
        try {
          message = decodeAgentToServer(frame);
        } catch {
          // Not well-formed inside: the server takes the short way only for bytes it decoded before.
          return;
        }
        expect(BigInt(scan.sequenceNum ?? -1)).toBe(message.sequenceNum);
        expect(BigInt(scan.capabilities ?? -1)).toBe(message.capabilities);
        expect(scan.healthAt >= 0).toBe(message.health !== undefined);
        expect(uidFromBytes(frame.subarray(scan.uidAt, scan.uidAt + 16))).toBe(message.instanceUid);
      }),
      { seed: 7, numRuns: 5_000 },
    );
  });
});
