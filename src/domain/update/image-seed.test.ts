import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideSeed, IMAGE_PRECEDENCES, type SeedFacts, type SeedHistory } from "./image-seed.ts";

const at = (version: string, bytes = version) => ({ version, binarySha256: bytes });
const facts = (over: Partial<SeedFacts>): SeedFacts => ({
  image: at("0.161.0"),
  active: undefined,
  precedence: "newer",
  minimumVersion: undefined,
  history: "new",
  ...over,
});
const verdict = (over: Partial<SeedFacts>): string => {
  const decision = decideSeed(facts(over));
  return decision.do === "seed" ? "seed" : decision.because;
};
const OLDER = at("0.160.0");
const NEWER = at("0.162.0");
const REBUILT = at("0.161.0", "other bytes");
const SAME = at("0.161.0");

/** precedence, what is active, what this volume knows of the image → seed, or why not */
const TABLE: [SeedFacts["precedence"], SeedFacts["active"], SeedHistory, string][] = [
  ["newer", undefined, "new", "seed"],
  ["newer", undefined, "ran", "seed"],
  ["newer", undefined, "taken_back", "seed"],
  ["newer", OLDER, "new", "seed"],
  ["newer", OLDER, "ran", "this image's collector ran here already and was replaced since"],
  ["newer", OLDER, "taken_back", "this image's collector was taken back before: it did not become healthy"],
  ["newer", NEWER, "new", "the active version is newer than the image"],
  ["newer", SAME, "new", "the image's collector is active"],
  ["newer", REBUILT, "new", "the active version is never overwritten with other bytes"],
  ["never", undefined, "new", "seed"],
  ["never", OLDER, "new", "imagePrecedence is never"],
  ["never", NEWER, "new", "imagePrecedence is never"],
  ["never", SAME, "new", "the image's collector is active"],
  ["never", REBUILT, "new", "imagePrecedence is never"],
  ["always", undefined, "new", "seed"],
  ["always", OLDER, "new", "seed"],
  ["always", OLDER, "ran", "seed"],
  ["always", NEWER, "new", "seed"],
  ["always", NEWER, "ran", "seed"],
  ["always", NEWER, "taken_back", "this image's collector was taken back before: it did not become healthy"],
  ["always", SAME, "ran", "the image's collector is active"],
  ["always", REBUILT, "new", "the active version is never overwritten with other bytes"],
];

describe("the seed of a container's image", () => {
  it.each(TABLE)("%s, active %j, %s: %s", (precedence, active, history, expected) => {
    expect(verdict({ precedence, active, history })).toBe(expected);
  });

  it("below minimumVersion replaces nothing, but an empty volume takes it", () => {
    const minimumVersion = "0.161.1";
    expect(verdict({ active: OLDER, minimumVersion })).toBe("the image is below minimumVersion");
    expect(verdict({ active: NEWER, precedence: "always", minimumVersion })).toBe("the image is below minimumVersion");
    expect(verdict({ minimumVersion })).toBe("seed");
    expect(verdict({ active: OLDER, minimumVersion: "0.161.0" })).toBe("seed");
  });

  it("orders versions as versions, not as texts; a candidate is older than its release", () => {
    expect(verdict({ image: at("0.100.0"), active: at("0.99.0") })).toBe("seed");
    expect(verdict({ image: at("0.161.0-rc.1"), active: at("0.161.0") })).toMatch(/newer than the image/);
  });

  it("settles: once an image's collector is active, the next start keeps it, whatever the precedence", () => {
    const version = fc.constantFrom("0.9.0", "0.10.0", "1.0.0-rc.1", "1.0.0").map((it) => at(it));
    fc.assert(
      fc.property(
        version,
        fc.option(version, { nil: undefined }),
        fc.constantFrom(...IMAGE_PRECEDENCES),
        (image, active, precedence) => {
          const first = decideSeed(facts({ image, active, precedence }));
          const next = decideSeed(facts({ image, active: first.do === "seed" ? image : active, precedence }));
          expect(next.do).toBe("keep");
        },
      ),
    );
  });
});
