import { describe, expect, it } from "vitest";
import { judgeVersion, type ActiveVersion, type DowngradePolicy } from "./downgrade.ts";

const strict: DowngradePolicy = { allowDowngrade: false };
const at = (version: string, previousVersion?: string): ActiveVersion => ({
  version,
  ...(previousVersion === undefined ? {} : { previousVersion }),
});

describe("anti-downgrade", () => {
  it.each<[string, string, ActiveVersion | undefined, DowngradePolicy]>([
    ["a newer version", "v0.163.0", at("0.162.0"), strict],
    ["the active version again", "v0.162.0", at("0.162.0"), strict],
    ["anything on an empty host", "v0.1.0", undefined, strict],
    ["the one-step return to the version before", "v0.161.0", at("0.162.0", "0.161.0"), strict],
    ["an older version where downgrades are allowed", "v0.1.0", at("0.162.0"), { allowDowngrade: true }],
    ["a release after its candidate", "v0.162.0", at("0.162.0-rc.1"), strict],
    ["the floor itself", "v0.160.0", undefined, { ...strict, minimumVersion: "0.160.0" }],
    ["a version that is newer only as a number", "v0.15.2", at("0.9.0"), strict],
  ])("%s is allowed", (_, offered, active, policy) => {
    expect(judgeVersion(offered, active, policy)).toEqual({ allowed: true });
  });

  it.each<[string, string, ActiveVersion | undefined, DowngradePolicy, RegExp]>([
    ["an older version", "v0.160.0", at("0.162.0", "0.161.0"), strict, /older than the active v0\.162\.0/],
    ["an older one on a host without marker", "v0.159.0", at("0.160.0"), strict, /older/],
    ["below the floor", "v0.159.0", undefined, { ...strict, minimumVersion: "0.160.0" }, /below minimumVersion/],
    [
      "below the floor, although downgrades are allowed",
      "v0.159.0",
      at("0.160.0"),
      { allowDowngrade: true, minimumVersion: "0.160.0" },
      /below minimumVersion/,
    ],
    [
      "below the floor, although it is the version before",
      "v0.159.0",
      at("0.160.0", "0.159.0"),
      { ...strict, minimumVersion: "0.160.0" },
      /below/,
    ],
    ["a candidate of the active release", "v0.162.0-rc.1", at("0.162.0"), strict, /older/],
    ["a malformed version", "0.162", at("0.161.0"), strict, /malformed/],
    ["a malformed version on an empty host", " v0.162.0", undefined, { allowDowngrade: true }, /malformed/],
  ])("%s is refused", (_, offered, active, policy, because) => {
    const verdict = judgeVersion(offered, active, policy);
    expect(verdict).toEqual({ allowed: false, because: expect.stringMatching(because) as string });
  });

  it("the return is one step: from the version returned to, the one before that is refused", () => {
    expect(judgeVersion("v0.160.0", at("0.161.0", "0.162.0"), strict).allowed).toBe(false);
    expect(judgeVersion("v0.162.0", at("0.161.0", "0.162.0"), strict).allowed).toBe(true);
  });
});
