/**
 * Which signer identities a pattern accepts (contract, "Signature verification"; decisions, "Host").
 *
 * The Sigstore library looks for identity patterns anywhere in the identity, so that a bare prefix accepts every workflow
 * and `v0.15` accepts the certificate of `v0.158.0`. Patterns are therefore checked here when configuration is read, and
 * matched here in linear time (the identity is chosen by the signer). The dialect is RE2, as in the peers of the field.
 */
import { RE2JS } from "re2js";
import { failure, isFailure } from "./errors.ts";

const MAX_PATTERN_CHARS = 1_024;
/** Groups that only group. Inline flags are refused: `(?m)` moves the anchors, look-around is not RE2. */
const PLAIN_GROUP = /^\?(?::|P?<[A-Za-z_]\w*>)/;

/** Index behind the character class that opens at `open`; -1 when it never closes. A `]` in first place is a literal. */
function endOfClass(pattern: string, open: number): number {
  let at = open + 1;
  if (pattern[at] === "^") at += 1;
  if (pattern[at] === "]") at += 1;
  while (at < pattern.length) {
    if (pattern[at] === "\\") at += 2;
    else if (pattern.startsWith("[:", at)) {
      const named = pattern.indexOf(":]", at + 2);
      at = named === -1 ? at + 1 : named + 2;
    } else if (pattern[at] === "]") return at + 1;
    else at += 1;
  }
  return -1;
}

/** What one top-level alternative begins and ends with, where it counts: neither escaped nor inside a class or group. */
type Alternative = { opensWithCaret: boolean; endsWithDollar: boolean };

/** Splits at the top-level `|`; undefined when the pattern has something that cannot be judged. */
function alternativesOf(pattern: string): Alternative[] | undefined {
  const found: Alternative[] = [];
  let depth = 0;
  let start = 0;
  let endsWithDollar = false;
  const close = (end: number) => {
    const quantified = /[*+?{]/.test(pattern[start + 1] ?? "");
    found.push({ opensWithCaret: end > start + 1 && pattern[start] === "^" && !quantified, endsWithDollar });
  };
  for (let at = 0; at < pattern.length;) {
    const char = pattern[at];
    let next = at + 1;
    let dollar = false;
    if (char === "\\") {
      if (pattern[at + 1] === "Q") return undefined; // quoted text: a `$` in it is a literal
      next = at + 2;
    } else if (char === "[") {
      next = endOfClass(pattern, at);
      if (next === -1) return undefined;
    } else if (char === "(") {
      if (pattern[at + 1] === "?" && !PLAIN_GROUP.test(pattern.slice(at + 1))) return undefined;
      depth += 1;
    } else if (char === ")") {
      depth -= 1;
      if (depth < 0) return undefined;
    } else if (char === "$") dollar = depth === 0;
    if (char === "|" && depth === 0) {
      close(at);
      start = next;
    }
    endsWithDollar = dollar;
    at = next;
  }
  close(pattern.length);
  return depth === 0 ? found : undefined;
}

/**
 * Whether a pattern can match whole identities only: each top-level alternative starts with a `^` that no quantifier
 * undoes, and ends with an unescaped `$` outside classes and groups. `^a$|^b$` counts, `^a|b$`, `^a\$`, `^*x$` do not.
 */
export function isAnchored(pattern: string): boolean {
  const alternatives = alternativesOf(pattern);
  return alternatives !== undefined && alternatives.every((one) => one.opensWithCaret && one.endsWithDollar);
}

/**
 * The test for one identity. It takes time linear in the identity.
 * Throws `identity_pattern_refused` when the pattern is not anchored, longer than 1,024 characters or not RE2.
 */
export function compilePattern(pattern: string): (identity: string) => boolean {
  if (pattern.length > MAX_PATTERN_CHARS)
    throw failure("identity_pattern_refused", { because: `it is longer than ${MAX_PATTERN_CHARS} characters` });
  if (!isAnchored(pattern))
    throw failure("identity_pattern_refused", {
      because: "each alternative must start with ^ and end with $, without inline flags",
    });
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (error) {
    throw failure("identity_pattern_refused", { because: "it is not a valid RE2 pattern" }, error);
  }
  return (identity) => compiled.matches(identity);
}

/** Why a configuration may not use the pattern, or undefined. */
export function refusedPattern(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    if (isFailure(error)) return error.message;
    throw error;
  }
}
