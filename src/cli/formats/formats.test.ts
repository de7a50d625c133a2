import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { DEFAULT_LIMITS, type RepositoryFile } from "../../domain/gitops/repository-files.ts";
import { ISSUE_CODES, type Issue, type IssueCode } from "../../domain/gitops/issue-codes.ts";
import { isBlocking } from "../../domain/gitops/validate.ts";
import { formatReport, VALIDATE_FORMATS, type ValidateFormat } from "./formats.ts";
import type { Report } from "./report.ts";

const file = (path: string, text: string, mode = "100644"): RepositoryFile => {
  const bytes = new TextEncoder().encode(text);
  return { path, mode, size: bytes.length, ...(mode === "100644" && { bytes }) };
};
const HEAD = "apiVersion: myriarch.dev/v1alpha1\n";
/** All that is special to XML, URIs and workflow commands; wide and combining characters; a link. */
const ODD = "fleets/a b%ü.yaml";
const FILES = [
  file("blueprints/base.yaml", `${HEAD}kind: Blueprint\nmetadata: {name: base}\nspec: {config: {a: {password: x}}}\n`),
  file(
    ODD,
    `${HEAD}kind: Fleet\nmetadata: {name: a, description: "日本語 👍🏽 e\u0301", lable: x}\nspec:\n  selector: {}\n  blueprint: base\n` +
      `  update:\t{executr:\tx}\n---\n${HEAD}kind: Fleet\nmetadata: {name: b}\nspec: {selector: {}, blueprint: "\u001b[31m%"}\n`,
  ),
  file("fleets/link.yaml", "", "120000"),
  file("policies/fine.yaml", `${HEAD}kind: RolloutPolicy\nmetadata: {name: fine}\nspec: {}\n`),
];
/** Written down, so that what validation says may change. */
const issue = (code: IssueCode, path: string, [line, column]: [number, number], more: Partial<Issue>): Issue => ({
  code,
  severity: ISSUE_CODES[code].severity,
  file: `deploy/${path}`,
  line,
  column,
  path: "",
  message: `says ${code}`,
  ...more,
});
const A = { kind: "Fleet", name: "a" };
const ISSUES = [
  issue("too_many_files", "", [1, 1], { file: "" }),
  issue("plaintext_secret", "blueprints/base.yaml", [4, 21], {
    kind: "Blueprint",
    name: "base",
    path: "spec.config.a",
  }),
  issue("unknown_field", ODD, [3, 49], { ...A, path: "metadata.lable", hint: "did you mean labels?" }),
  issue("unknown_field", ODD, [7, 12], {
    ...A,
    path: "spec.update.l<&>\"'",
    message: "100%, \u001b[31m\u0000\u0085 a:\nb\u202e",
  }),
  issue("unknown_field", ODD, [7, 12], {
    ...A,
    path: "spec.update.l<&>\"'",
    message: "100%, \u001b[31m\u0000\u0085 a:\nb\u202e",
  }),
  issue("invalid_value", ODD, [12, 33], { kind: "Fleet", path: "spec.blueprint" }),
  issue("not_regular_file", "fleets/link.yaml", [1, 1], {}),
];
const reportOn = (issues: readonly Issue[], more: Partial<Report> = {}): Report => {
  const named = (at: string): string => at || "deploy";
  const git = { url: "https://git.example.com/fleet.git", ref: "main", commit: "1".repeat(40) };
  const limits = { ...DEFAULT_LIMITS, base: "deploy" };
  const revision = { label: "fleet <main>", files: FILES, limits, shown: named, rooted: named, git };
  return { revision, issues, objects: 4, strict: false, ...more };
};
const plain = { paint: (_: string, text: string) => text, version: "1.2.3" };
const printed = (format: ValidateFormat, issues: readonly Issue[] = ISSUES, more: Partial<Report> = {}): string =>
  formatReport(format, reportOn(issues, more), plain);

/** Without the texts of the catalogue, which other tests look at. */
const withoutCatalogue = (text: string): string =>
  Object.entries(ISSUE_CODES)
    .reduce((left, [code, { todo }]) => left.replaceAll(todo, `(what to do about ${code})`), text)
    .replace(/"rules": \[.*?\n {10}\]/s, '"rules": []');

test.each(VALIDATE_FORMATS)("%s prints what the reviewed file has", async (format) => {
  await expect(`${withoutCatalogue(printed(format))}\n`).toMatchFileSnapshot(`golden/report.${format}.txt`);
});

test.each(VALIDATE_FORMATS)("%s: no control character leaves, apart from line breaks", (format) => {
  // oxlint-disable-next-line no-control-regex -- exactly those are looked for
  expect(printed(format)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

describe("text", () => {
  test("the caret stands under the place, whatever the width of what stands before", () => {
    const lines = printed("text").split("\n");
    const at = lines.findIndex((line) => line.includes("日本語"));
    const before = lines[at]?.slice(0, lines[at].indexOf("lable")) ?? "";
    // three characters of two columns; an emoji of four code units in two; a mark of none
    expect(lines[at + 1]?.indexOf("^")).toBe(before.length + 3 - 2 - 1);
    expect(lines[at + 1]?.replaceAll(" ", "")).toBe("|^^^^^");
  });
  test("a tab takes a fixed width, so that the caret is right", () => {
    const lines = printed("text").split("\n");
    const shown = lines.find((line) => line.includes("executr")) ?? "";
    expect(lines[lines.indexOf(shown) + 1]?.indexOf("^")).toBe(shown.indexOf("executr"));
  });
  test("a long line is cut around the place", () => {
    const text = `metadata: {name: a, description: "${"x".repeat(500)}", lable: y}\n`;
    const found = [issue("unknown_field", "a.yaml", [1, text.indexOf("lable") + 1], {})];
    const report = reportOn(found);
    const lines = formatReport(
      "text",
      { ...report, revision: { ...report.revision, files: [file("a.yaml", text)] } },
      plain,
    ).split("\n");
    const shown = lines.find((line) => line.includes("lable: y")) ?? "";
    expect(shown.length).toBeLessThan(140);
    expect(shown.indexOf("lable")).toBe(lines[lines.indexOf(shown) + 1]?.indexOf("^"));
  });
  test("warnings alone are valid, and invalid when they are errors too", () => {
    const warned = ISSUES.slice(1, 2);
    expect(printed("text", warned)).toMatch(/^valid: 4 objects, 0 errors, 1 warning$/m);
    expect(printed("text", warned, { strict: true })).toMatch(/^invalid: 0 errors, 1 warning in 1 file \(--strict/m);
  });
});

describe("gitlab", () => {
  type Finding = { fingerprint: string; location: { path: string; lines: { begin: number } } };
  const fingerprints = (issues: readonly Issue[]): string[] =>
    (JSON.parse(printed("gitlab", issues)) as Finding[]).map(({ fingerprint }) => fingerprint);

  test("fingerprints are unique, and stay when lines are added above", () => {
    expect(new Set(fingerprints(ISSUES)).size).toBe(ISSUES.length);
    expect(fingerprints(ISSUES.map((it) => ({ ...it, line: it.line + 2 })))).toEqual(fingerprints(ISSUES));
  });
  test("a valid repository is an empty list", () => {
    expect(printed("gitlab", [])).toBe("[]");
  });
});

test("sarif has what SARIF 2.1.0 requires, and every result's rule", () => {
  const text = { type: "object", required: ["text"], properties: { text: { type: "string", minLength: 1 } } };
  const whole = { type: "integer", minimum: 1 };
  const required = (properties: Record<string, object>): object => ({
    type: "object",
    required: Object.keys(properties),
    properties,
  });
  const id = { type: "string", pattern: "^[a-z_]+$" };
  const level = { enum: ["error", "warning", "note", "none"] };
  const rule = required({
    id,
    shortDescription: text,
    fullDescription: text,
    help: text,
    defaultConfiguration: required({ level }),
  });
  const place = required({
    physicalLocation: required({
      // a URI reference, relative
      artifactLocation: required({ uri: { type: "string", pattern: "^(?!/)[A-Za-z0-9_.~%!*'()/-]+$" } }),
      region: required({ startLine: whole, startColumn: whole }),
    }),
  });
  const result = required({
    ruleId: id,
    ruleIndex: { type: "integer", minimum: 0 },
    level,
    message: text,
    locations: { type: "array", minItems: 1, items: place },
    partialFingerprints: { type: "object", additionalProperties: { type: "string" } },
  });
  const driver = required({
    name: { const: "myrctl" },
    version: { const: "1.2.3" },
    rules: { type: "array", items: rule },
  });
  const run = required({ tool: required({ driver }), results: { type: "array", items: result } });
  const check = new Ajv().compile(
    required({ $schema: {}, version: { const: "2.1.0" }, runs: { type: "array", items: run } }),
  );
  type Sarif = {
    runs: { tool: { driver: { rules: { id: string }[] } }; results: { ruleId: string; ruleIndex: number }[] }[];
  };
  const document = JSON.parse(printed("sarif")) as Sarif;
  check(document);
  expect(check.errors ?? []).toEqual([]);
  const [only] = document.runs;
  expect(only?.results.length).toBe(ISSUES.length);
  for (const { ruleId, ruleIndex } of only?.results ?? []) {
    expect(only?.tool.driver.rules[ruleIndex]?.id).toBe(ruleId);
  }
});

describe("junit", () => {
  test("is well-formed: one case per file that was read, and one per other place that has an issue", () => {
    const { elements, attributes } = parseXml(printed("junit"));
    expect(elements.filter((name) => name === "testcase")).toHaveLength(FILES.length + 1);
    expect(elements.filter((name) => name === "failure")).toHaveLength(3);
    const counts = attributes.filter(([name]) => name === "tests" || name === "failures").map(([, value]) => value);
    expect(counts).toEqual(["5", "3", "5", "3"]);
    expect(attributes).toContainEqual(["name", `deploy/${ODD}`]);
  });
  test("warnings fail a case when they are asked to", () => {
    const warned = ISSUES.filter((it) => !isBlocking(it));
    expect(parseXml(printed("junit", warned)).elements).not.toContain("failure");
    expect(parseXml(printed("junit", warned)).elements).toContain("system-out");
    expect(parseXml(printed("junit", warned, { strict: true })).elements).toContain("failure");
  });
});

/** A strict reader of the XML that we write: throws when it is not well-formed. */
function parseXml(text: string): { elements: string[]; attributes: [string, string][] } {
  const ATTRIBUTE = /\s+([\w:-]+)="((?:[^<&"]|&(?:amp|lt|gt|quot|apos);)*)"/y;
  const TEXT = /(?:[^<&]|&(?:amp|lt|gt|quot|apos);)+/y;
  const entity = (it: string): string =>
    it
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&quot;", '"')
      .replaceAll("&apos;", "'")
      .replaceAll("&amp;", "&");
  const elements: string[] = [];
  const attributes: [string, string][] = [];
  const open: string[] = [];
  let at = /^<\?xml version="1\.0" encoding="UTF-8"\?>/.exec(text)?.[0].length ?? -1;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at += found[0].length;
    return found;
  };
  while (at >= 0 && at < text.length) {
    const closing = take(/<\/([\w:-]+)>/y);
    if (closing !== null) {
      expect(open.pop()).toBe(closing[1]);
      continue;
    }
    const opening = take(/<([\w:-]+)/y);
    if (opening === null) {
      if (take(TEXT) === null) throw new Error(`not well-formed at ${at}: ${text.slice(at, at + 40)}`);
      continue;
    }
    elements.push(opening[1] ?? "");
    for (let found = take(ATTRIBUTE); found !== null; found = take(ATTRIBUTE)) {
      attributes.push([found[1] ?? "", entity(found[2] ?? "")]);
    }
    const end = take(/\/?>/y)?.[0];
    if (end === undefined) throw new Error(`not well-formed at ${at}: ${text.slice(at, at + 40)}`);
    if (end === ">") open.push(opening[1] ?? "");
  }
  expect(open).toEqual([]);
  return { elements, attributes };
}
