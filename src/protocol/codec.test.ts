import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeAgentToServer, decodeHealth, decodeServerToAgent, encodeAgentToServer, encodeHealth } from "./codec.ts";
import { encodeServerToAgent, Malformed } from "./codec.ts";
import type { AgentToServer, AnyValue, Attributes, ComponentHealth, ServerToAgent } from "./messages.ts";
import { MAX_NESTING } from "./wire.ts";

const UID = "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5061";
const UID_FIELD = "0a100190a1b2c3d47e8f9a0b1c2d3e4f5061";
const hex = (text: string): Buffer => Buffer.from(text, "hex");
const bytes = (text: string): Uint8Array => Uint8Array.from(hex(text));
const agentBase = { instanceUid: UID, capabilities: 0x2819n, flags: 0n };
const serverBase = { instanceUid: UID, flags: 0n, capabilities: 0n };

/** Parsed and written again byte for byte by opamp-go as well. */
const AGENT_FRAMES: [name: string, frame: string, message: AgentToServer][] = [
  ["heartbeat", `00${UID_FIELD}1005209950`, { ...agentBase, sequenceNum: 5n }],
  ["last message", `00${UID_FIELD}10062099504a00`, { ...agentBase, sequenceNum: 6n, agentDisconnect: true }],
  [
    "package statuses, Installed",
    `00${UID_FIELD}100720995042230a1e0a00121a120876302e3135302e301a0101220876302e3135302e302a01011201a1`,
    {
      ...agentBase,
      sequenceNum: 7n,
      packageStatuses: {
        packages: new Map([
          [
            "",
            {
              name: "",
              agentHasVersion: "v0.150.0",
              agentHasHash: bytes("01"),
              serverOfferedVersion: "v0.150.0",
              serverOfferedHash: bytes("01"),
              status: 0,
              errorMessage: "",
            },
          ],
        ]),
        serverProvidedAllPackagesHash: bytes("a1"),
        errorMessage: "",
      },
    },
  ],
];
const SERVER_FRAMES: [name: string, frame: string, message: ServerToAgent][] = [
  ["ReportFullState", `00${UID_FIELD}3001381f`, { ...serverBase, flags: 1n, capabilities: 0x1fn }],
  ["command Restart", `00${UID_FIELD}4a00`, { ...serverBase, command: { type: 0 } }],
  [
    "error Unavailable",
    `00${UID_FIELD}121008021204627573791a060880d88ee16f`,
    { ...serverBase, errorResponse: { type: 2, errorMessage: "busy", retryAfterNanoseconds: 30_000_000_000n } },
  ],
  [
    "remote config",
    `00${UID_FIELD}1a1e0a180a160a0012120a05613a20310a1209746578742f79616d6c1202beef`,
    {
      ...serverBase,
      remoteConfig: {
        config: new Map([["", { body: bytes("613a20310a"), contentType: "text/yaml" }]]),
        configHash: bytes("beef"),
      },
    },
  ],
  [
    "packages available",
    `00${UID_FIELD}2a490a440a001240120876302e3135302e301a310a0a687474703a2f2f682f61120202031a027b7d221b0a190a0d417574686f72697a6174696f6e120842656172657220742201011201a1`,
    {
      ...serverBase,
      packagesAvailable: {
        packages: new Map([
          [
            "",
            {
              type: 0,
              version: "v0.150.0",
              hash: bytes("01"),
              file: {
                downloadUrl: "http://h/a",
                contentHash: bytes("0203"),
                signature: bytes("7b7d"),
                headers: [{ key: "Authorization", value: "Bearer t" }],
              },
            },
          ],
        ]),
        allPackagesHash: bytes("a1"),
      },
    },
  ],
];

describe("golden frames", () => {
  it.each(AGENT_FRAMES)("of an agent: %s is read and written byte for byte", (_, frame, message) => {
    expect(decodeAgentToServer(hex(frame))).toEqual(message);
    expect(Buffer.from(encodeAgentToServer(message)).toString("hex")).toBe(frame);
  });
  it.each(SERVER_FRAMES)("of a server: %s is read and written byte for byte", (_, frame, message) => {
    expect(decodeServerToAgent(hex(frame))).toEqual(message);
    expect(Buffer.from(encodeServerToAgent(message)).toString("hex")).toBe(frame);
  });
  it("the first message of a client has no sequence field; a frame without header is read", () => {
    expect(decodeAgentToServer(hex(UID_FIELD)).sequenceNum).toBe(0n);
  });
});

const health = (more: Partial<ComponentHealth> = {}): ComponentHealth => ({
  healthy: false,
  startTimeUnixNano: 0n,
  lastError: "",
  status: "",
  statusTimeUnixNano: 0n,
  componentHealthMap: new Map(),
  ...more,
});
const nested = (depth: number): ComponentHealth =>
  depth === 1 ? health() : health({ componentHealthMap: new Map([["a", nested(depth - 1)]]) });

describe("64 bits, odd keys, odd values", () => {
  it("nanoseconds and 64-bit numbers keep every digit", () => {
    const message: AgentToServer = {
      ...agentBase,
      sequenceNum: 2n ** 64n - 1n,
      capabilities: 2n ** 63n + 1n,
      agentDescription: {
        identifyingAttributes: new Map<string, AnyValue>([
          ["least", -(2n ** 63n)],
          ["most", 2n ** 63n - 1n],
          ["double", 0.1],
        ]),
        nonIdentifyingAttributes: new Map(),
      },
      health: health({ startTimeUnixNano: 1_764_000_000_123_456_789n, statusTimeUnixNano: 2n ** 64n - 1n }),
    };
    expect(decodeAgentToServer(encodeAgentToServer(message))).toEqual(message);
  });

  it("keys like __proto__ and constructor are keys", () => {
    const componentHealthMap = new Map(["__proto__", "constructor", "", "10", "9"].map((key) => [key, health()]));
    const read = decodeHealth(encodeHealth(health({ componentHealthMap })));
    expect(new Set(read.componentHealthMap.keys())).toEqual(new Set(componentHealthMap.keys()));
    expect(({} as Record<string, unknown>)["healthy"]).toBeUndefined();
  });

  it("an entry without key or value, unknown fields and unknown enum numbers are read", () => {
    const entryOnlyKey = "42060a040a020a00"; // packages { "" → {} } without key
    expect(decodeAgentToServer(hex(`00${UID_FIELD}${entryOnlyKey}`)).packageStatuses?.packages.size).toBe(1);
    const unknown = "f2ff0301aa"; // field 8190, wire type 2
    expect(decodeAgentToServer(hex(`00${UID_FIELD}${unknown}`)).instanceUid).toBe(UID);
    const status99 = "3a021063"; // remote_config_status.status = 99
    expect(decodeAgentToServer(hex(`00${UID_FIELD}${status99}`)).remoteConfigStatus?.status).toBe(99);
  });

  it("half a surrogate pair is sent as U+FFFD, however long the text is", () => {
    for (const length of [1, 60, 300]) {
      const lastError = `${"x".repeat(length)}\uD800`;
      const read = decodeHealth(encodeHealth(health({ lastError })));
      expect(read.lastError).toBe(`${"x".repeat(length)}\uFFFD`);
    }
  });
});

describe("what is refused", () => {
  it.each([
    ["a header that is not 0", "05aa"],
    ["a UID of 15 bytes", `000a0f${"11".repeat(15)}`],
    ["a UID of 17 bytes", `000a11${"11".repeat(17)}`],
    ["a UID of zeros", `000a10${"00".repeat(16)}`],
    ["no UID", "001001"],
    ["an empty frame", ""],
    ["a cut message", `00${UID_FIELD}2aff`],
    ["an endless varint", `00${UID_FIELD}10${"ff".repeat(11)}`],
    ["text that is no UTF-8", `00${UID_FIELD}2a0422028080`],
    ["a group that does not end", `00${UID_FIELD}7b`],
  ])("%s", (_, frame) => {
    expect(() => decodeAgentToServer(hex(frame))).toThrow(Malformed);
  });

  it("a frame over the limit, before it is read", () => {
    expect(() => decodeAgentToServer(Buffer.alloc(11), 10)).toThrow(/larger than 10 bytes/);
  });

  it(`components nested deeper than ${MAX_NESTING}, and no less`, () => {
    expect(decodeHealth(encodeHealth(nested(MAX_NESTING)))).toEqual(nested(MAX_NESTING));
    expect(() => decodeHealth(encodeHealth(nested(MAX_NESTING + 1)))).toThrow(Malformed);
  });

  it("a bomb of 3,000 levels, without ending the process", () => {
    let body: Buffer = Buffer.alloc(0);
    const chunks: Buffer[] = [];
    for (let depth = 0; depth < 3_000; depth++) {
      const head = Buffer.concat([Buffer.of(0x32), varint(body.length + 1 + varint(body.length).length)]);
      chunks.push(head);
      body = Buffer.alloc(body.length + head.length + 1 + varint(body.length).length);
    }
    expect(() => decodeHealth(Buffer.concat([...chunks.toReversed(), body]))).toThrow(Malformed);
  });

  it("attribute values nested without end", () => {
    const bomb = Array.from({ length: MAX_NESTING + 2 }).reduce<AnyValue>((inner) => [inner], "x");
    const identifyingAttributes: Attributes = new Map([["a", bomb]]);
    const message = {
      ...agentBase,
      sequenceNum: 0n,
      agentDescription: { identifyingAttributes, nonIdentifyingAttributes: new Map() },
    };
    expect(() => decodeAgentToServer(encodeAgentToServer(message))).toThrow(Malformed);
  });
});

function varint(value: number): Buffer {
  const out: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...out, rest]);
    out.push((rest % 128) | 0x80);
  }
}

describe("fuzz, seeded", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 70 });
  const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
  const anyHealth = fc.letrec<{ health: ComponentHealth }>((tie) => ({
    health: fc
      .record({
        healthy: fc.boolean(),
        startTimeUnixNano: uint64,
        lastError: text,
        status: text,
        statusTimeUnixNano: uint64,
        children: fc.oneof(
          { maxDepth: 3, depthSize: "small" },
          fc.constant<[string, ComponentHealth][]>([]),
          fc.array(fc.tuple(text, tie("health")), { maxLength: 3 }),
        ),
      })
      .map(({ children, ...rest }) => ({ ...rest, componentHealthMap: new Map(children) })),
  })).health;

  it("any health report comes back as it was", () => {
    fc.assert(
      fc.property(anyHealth, (report) => {
        expect(decodeHealth(encodeHealth(report))).toEqual(report);
      }),
      { seed: 20261129, numRuns: 300 },
    );
  });

  it("whatever bytes arrive, they are a message or Malformed, and nothing else happens", () => {
    const frames = [...AGENT_FRAMES, ...SERVER_FRAMES].map(([, frame]) => hex(frame));
    const damaged = fc
      .tuple(fc.constantFrom(...frames), fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 6 }), fc.nat(200))
      .map(([frame, changes, cut]) => {
        const copy = Buffer.from(frame.subarray(0, Math.max(1, frame.length - (cut % 20))));
        for (const [at, value] of changes) copy[at % copy.length] = value;
        return copy;
      });
    fc.assert(
      fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 120 })), (frame) => {
        for (const decode of [decodeAgentToServer, decodeServerToAgent])
          try {
            decode(frame);
          } catch (error) {
            expect(error).toBeInstanceOf(Malformed);
          }
      }),
      { seed: 20261129, numRuns: 5_000 },
    );
  });
});
