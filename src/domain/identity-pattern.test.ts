import { describe, expect, it } from "vitest";
import { CONTRACT_DEFAULTS } from "./brand.ts";
import { compilePattern, isAnchored } from "./identity-pattern.ts";

const ANCHORED = [
  "^a$",
  "^$",
  "^a$|^b$",
  "^(a|b)$",
  "^(?:a|b)$",
  "^(?P<tag>v\\d+)$",
  "^[$|)]x$",
  "^[]|]x$",
  "^[[:alpha:]|]+$",
  "^a\\\\$",
  "^a\\|b$",
  CONTRACT_DEFAULTS.identityPattern,
];

const NOT_ANCHORED = [
  "",
  "a",
  "^",
  "$",
  "^a",
  "a$",
  "^a|b$",
  "^a$|b",
  "^a$|",
  "^nothing|refs/tags/v0\\.158\\.0$",
  "^https://.*|\\$",
  "^a\\$",
  "^a[$]",
  "^a$*",
  "^a(?:$)",
  "(^a$)",
  "^*x$",
  "^+x$",
  "^?x$",
  "^{0}refs/tags/v0\\.158\\.0$",
  "(?m)^a$",
  "(?i)^a$",
  "^(?m:a)$",
  "^(?=a)a$",
  "^(?<!a)b$",
  "\\Aa\\z",
  "\\^a$",
  "^\\Qa$",
  "^a)|(b$",
  "^(a$",
  "^[a$",
];

describe("anchored identity patterns", () => {
  it.each(ANCHORED)("%s matches whole identities only", (pattern) => {
    expect(isAnchored(pattern)).toBe(true);
    expect(() => compilePattern(pattern)).not.toThrow();
  });

  it.each(NOT_ANCHORED)("%j is refused", (pattern) => {
    expect(isAnchored(pattern)).toBe(false);
    expect(() => compilePattern(pattern)).toThrow(expect.objectContaining({ code: "identity_pattern_refused" }));
  });

  it.each(["^(a$", "^a{2,1}$", "^a**$", "^[z-a]$", `^${"a".repeat(2_000)}$`])(
    "%.20s is no usable pattern",
    (pattern) => {
      expect(() => compilePattern(pattern)).toThrow(expect.objectContaining({ code: "identity_pattern_refused" }));
    },
  );

  it("accepts plain release tags of the upstream workflow and nothing longer", () => {
    const accepts = compilePattern(CONTRACT_DEFAULTS.identityPattern);
    const workflow =
      "https://github.com/open-telemetry/opentelemetry-collector-releases/.github/workflows/base-release.yaml";
    expect(accepts(`${workflow}@refs/tags/v0.162.0`)).toBe(true);
    for (const other of [
      `${workflow}@refs/tags/v0.162.0-nightly.1`,
      `${workflow}@refs/heads/main`,
      `x${workflow}@refs/tags/v0.162.0`,
      `${workflow}@refs/tags/v0.162.0\n`,
      `${workflow.replace("base-", "other-")}@refs/tags/v0.162.0`,
      `${workflow.replace("github.com", "githubXcom")}@refs/tags/v0.162.0`,
    ])
      expect(accepts(other)).toBe(false);
  });

  it.each([
    ["^(\\w+\\s?)*$", `${"a".repeat(28)}!`],
    ["^(.*a){12}$", "a".repeat(40) + "b"],
    ["^(a?){50}a{50}$", "a".repeat(50) + "b"],
    ["^((a{100}){100}){1,10}$", "a".repeat(500)],
  ])("%s ends within a second on an identity made to stall it", (pattern, identity) => {
    const began = performance.now();
    let accepted = false;
    try {
      accepted = compilePattern(pattern)(identity);
    } catch (error) {
      expect(error).toMatchObject({ code: "identity_pattern_refused" });
    }
    expect(accepted).toBe(false);
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});
