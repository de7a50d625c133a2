import { describe, expect, it } from "vitest";
import { compareVersions, normalizeVersion, withV } from "./version.ts";

describe("version texts", () => {
  it.each([
    ["v0.162.0", "0.162.0"],
    ["0.162.0", "0.162.0"],
    ["v1.0.0-rc.1", "1.0.0-rc.1"],
    ["v1.0.0+build.5", "1.0.0+build.5"],
  ])("%s is a version", (text, version) => {
    expect(normalizeVersion(text)).toBe(version);
  });

  it.each([
    "",
    "v",
    "0.162",
    "v0.0162.0",
    " v0.162.0",
    "v0.162.0 ",
    "vv0.162.0",
    "V0.162.0",
    "=0.162.0",
    "0.162.0.1",
    "v1",
    "latest",
    "0.162.x",
    "0.162.0\n",
  ])("%j is malformed", (text) => {
    expect(normalizeVersion(text)).toBeUndefined();
  });

  it.each([
    ["0.15.2", "0.9.0"],
    ["0.162.0", "0.162.0-rc.1"],
    ["0.152.0", "0.15.2"],
  ])("%s is newer than %s", (newer, older) => {
    expect(compareVersions(newer, older)).toBeGreaterThan(0);
    expect(compareVersions(older, newer)).toBeLessThan(0);
  });

  it("an absent version stays empty", () => {
    expect([withV(""), withV("0.1.0")]).toEqual(["", "v0.1.0"]);
  });
});
