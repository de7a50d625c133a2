import { describe, expect, test } from "vitest";
import { parseAssetName } from "./asset.ts";
import { describeUpload, judgeRoom, type RoomQuestion } from "./upload.ts";

const RELEASE = { distribution: "otelcol-contrib", version: "0.162.0" };
const file = (platform: string, change: object = {}) => ({
  fileName: `otelcol-contrib_0.162.0_${platform}.tar.gz`,
  sizeBytes: 10,
  checksum: "A".repeat(64),
  bundle: "{}",
  ...change,
});
const code = (work: () => unknown): string => {
  try {
    work();
    return "none";
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe("an upload", () => {
  test("is described by name, with the digest and the platform of each archive", () => {
    const described = describeUpload(RELEASE, [file("windows_386"), file("linux_armv7")]);
    expect(described.map(({ os, arch, sha256 }) => [os, arch, sha256])).toEqual([
      ["linux", "armv7", "a".repeat(64)],
      ["windows", "386", "a".repeat(64)],
    ]);
  });
  test.each([
    ["nothing", [], "invalid_request"],
    [
      "another version",
      [file("linux_amd64", { fileName: "otelcol-contrib_0.161.0_linux_amd64.tar.gz" })],
      "invalid_request",
    ],
    [
      "another distribution",
      [file("linux_amd64", { fileName: "otelcol_0.162.0_linux_amd64.tar.gz" })],
      "invalid_request",
    ],
    ["a name that climbs", [file("linux_amd64", { fileName: "../x_0.162.0_linux_amd64.tar.gz" })], "invalid_request"],
    ["one archive twice", [file("linux_amd64"), file("linux_amd64")], "invalid_request"],
    ["a platform that nobody has", [file("plan9_amd64")], "unsupported_platform"],
    ["a platform by an agent's name", [file("linux_x64")], "unsupported_platform"],
    ["more than 1 GiB", [file("linux_amd64", { sizeBytes: 1024 ** 3 + 1 })], "artifact_too_large"],
    ["a checksum file without one", [file("linux_amd64", { checksum: "?" })], "checksum_malformed"],
  ])("of %s is refused", (_, files, expected) => {
    expect(code(() => describeUpload(RELEASE, files))).toBe(expected);
  });
});

test.each(["otelcol_1.0.0_linux_amd64.tar.gz", "otelcol-k8s_0.162.0-rc.1_windows_arm64.tar.gz"])(
  "%s is an asset",
  (name) => {
    expect(parseAssetName(name).ok).toBe(true);
  },
);
test.each(["otelcol_1.0.0_linux_amd64.zip", "otelcol_1.0_linux_amd64.tar.gz", "_1.0.0_linux_amd64.tar.gz", "x"])(
  "%s is none",
  (name) => {
    expect(parseAssetName(name)).toEqual({ ok: false, because: "name" });
  },
);

describe("room", () => {
  const MIB = 1024 ** 2;
  const ask = (change: Partial<RoomQuestion>) =>
    judgeRoom({ stagingBytes: 0, stagingFreeBytes: 1e12, depotBytes: 100 * MIB, depots: [], minCopies: 3, ...change });
  const depot = (nodeId: string, ...free: number[]) => ({ nodeId, freeBytes: free.map((it) => it * MIB) });
  test("of staging is what the upload lacks, and a reserve", () => {
    expect(ask({ stagingBytes: 100 * MIB, stagingFreeBytes: 163 * MIB })).toMatch(
      /163\.0 MiB free, the upload needs 100\.0 MiB/,
    );
    expect(ask({ stagingBytes: 100 * MIB, stagingFreeBytes: 164 * MIB })).toBeUndefined();
    expect(ask({ stagingBytes: 0, stagingFreeBytes: 0 })).toBeUndefined();
  });
  test("of depots: as many as copies are asked for have it on one of their disks", () => {
    const depots = [depot("a", 99), depot("b", 1, 100), depot("c", 200), depot("d", 100)];
    expect(ask({ depots })).toBeUndefined();
    expect(ask({ depots: depots.slice(0, 3) })).toMatch(
      /^3 depots need 100\.0 MiB each, and these have not: a \(99\.0 MiB free\)$/,
    );
    expect(ask({ depots: depots.slice(0, 3), minCopies: 2 })).toBeUndefined();
    expect(ask({ depots: depots.slice(0, 3), depotBytes: 0 })).toBeUndefined();
  });
  test("of a depot that does not say how much it has is not doubted", () => {
    expect(ask({ depots: [depot("a"), depot("b"), depot("c")] })).toBeUndefined();
  });
});
