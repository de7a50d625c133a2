import { describe, expect, test } from "vitest";
import { assetName, assetUrls, isArtifactRef, parseChecksum, platformOf, platformText } from "./asset.ts";

const ref = { distribution: "otelcol-contrib", version: "0.162.0", os: "linux", arch: "amd64" };

describe("names of a release's files", () => {
  test("an asset is <distribution>_<version>_<os>_<arch>.tar.gz below its tag, its proofs beside it", () => {
    expect(assetName(ref)).toBe("otelcol-contrib_0.162.0_linux_amd64.tar.gz");
    expect(assetUrls("https://mirror.example.com/releases/", ref)).toEqual({
      archive: "https://mirror.example.com/releases/v0.162.0/otelcol-contrib_0.162.0_linux_amd64.tar.gz",
      checksum: "https://mirror.example.com/releases/v0.162.0/otelcol-contrib_0.162.0_linux_amd64.tar.gz.sha256",
      bundle: "https://mirror.example.com/releases/v0.162.0/otelcol-contrib_0.162.0_linux_amd64.tar.gz.sigstore.json",
    });
  });

  test.each([
    ["linux", "amd64", "linux_amd64"],
    ["linux", "x64", "linux_amd64"],
    ["linux", "ia32", "linux_386"],
    ["linux", "x86", "linux_386"],
    ["linux", "arm", "linux_armv7"],
    ["linux", "arm32", "linux_armv7"],
    ["linux", "arm64", "linux_arm64"],
    ["Darwin", "ARM64", "darwin_arm64"],
    ["windows", "amd64", "windows_amd64"],
    ["win32", "x64", "windows_amd64"],
  ])("an agent on %s/%s gets the archive for %s", (os, arch, text) => {
    const platform = platformOf(os, arch);
    expect(platform && platformText(platform)).toBe(text);
  });

  test.each([
    ["plan9", "amd64"],
    ["linux", "sparc"],
    ["", ""],
    ["linux", "constructor"],
    ["__proto__", "amd64"],
    ["linux", "../amd64"],
  ])("no archive exists for %s/%s", (os, arch) => expect(platformOf(os, arch)).toBeUndefined());

  test.each([
    { ...ref, distribution: "../x" },
    { ...ref, distribution: "" },
    { ...ref, version: "v0.162.0" },
    { ...ref, version: "0.162" },
    { ...ref, version: "0.162.0/../.." },
    { ...ref, arch: "a b" },
  ])("$distribution $version $arch makes no file name", (bad) => expect(isArtifactRef(bad)).toBe(false));
});

describe("checksum files", () => {
  const hex = "0123456789abcdef".repeat(4);
  test.each([
    ["bare, as upstream writes it", hex],
    ["with a newline", `${hex}\n`],
    ["with a file name", `${hex}  otelcol-contrib_0.162.0_linux_amd64.tar.gz\n`],
    ["in capitals", hex.toUpperCase()],
  ])("%s: the digest is read", (_, text) => expect(parseChecksum(text)).toBe(hex));

  test.each([
    ["empty", ""],
    ["63 characters", hex.slice(1)],
    ["65 characters", `${hex}0`],
    ["a page of HTML", "<!doctype html>"],
    ["not at the beginning", ` ${hex}`],
  ])("%s: malformed", (_, text) => expect(parseChecksum(text)).toBeUndefined());
});
