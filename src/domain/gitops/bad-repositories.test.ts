/** A table of bad repositories with golden issues: what an author sees for each kind of fault (bad/golden/*.txt). */
import { describe, expect, test } from "vitest";
import type { Issue } from "./issue-codes.ts";
import { CONFIGURATIONS, PARAMETERS, REFERENCES, TEMPLATES } from "./bad/between.ts";
import { FILES, SAMPLES, TOGETHER } from "./bad/files.ts";
import { ENVELOPE, FLEETS, OTHERS, POLICIES } from "./bad/objects.ts";
import { repositoryOf, type BadCase } from "./bad/repository.ts";
import { RULES, SYNTAX } from "./bad/yaml.ts";
import { DEFAULT_LIMITS } from "./repository-files.ts";
import { validateRevision } from "./validate.ts";

const TABLES: Record<string, BadCase[]> = {
  syntax: SYNTAX,
  rules: RULES,
  envelope: ENVELOPE,
  fleets: FLEETS,
  policies: POLICIES,
  others: OTHERS,
  references: REFERENCES,
  parameters: PARAMETERS,
  templates: TEMPLATES,
  configurations: CONFIGURATIONS,
  files: FILES,
  samples: SAMPLES,
  together: TOGETHER,
};

const issuesOf = ({ files, limits, modes }: BadCase): Issue[] =>
  validateRevision(repositoryOf(files, modes), { ...DEFAULT_LIMITS, ...limits }).issues;

/** An issue as text, with the line that it points at. */
function show(issue: Issue, files: BadCase["files"]): string {
  const object = [issue.kind, issue.name].filter((part) => part !== undefined).join(" ");
  const where = [object, issue.path].filter((part) => part !== "").join(" ");
  const content = files[issue.file];
  const line = typeof content === "string" ? content.split("\n")[issue.line - 1] : undefined;
  const isShort = line !== undefined && line.length < 120;
  return [
    `${issue.file}:${issue.line}:${issue.column} ${issue.severity} ${issue.code}${where === "" ? "" : ` (${where})`}`,
    ...(isShort ? [`    | ${line}`, `    | ${" ".repeat(issue.column - 1)}^`] : []),
    `  ${issue.message}`,
    ...(issue.hint === undefined ? [] : [`  hint: ${issue.hint}`]),
  ].join("\n");
}

describe.each(Object.entries(TABLES))("%s", (name, cases) => {
  test.each(cases.map((it): [string, BadCase] => [it.what, it]))("%s gives its codes and no others", (_, it) => {
    expect([...new Set(issuesOf(it).map(({ code }) => code))].toSorted()).toEqual(it.codes.toSorted());
  });

  test("the issues are those of the golden file", async () => {
    const texts = cases.map(
      (it) =>
        `# ${it.what}\n${issuesOf(it)
          .map((issue) => show(issue, it.files))
          .join("\n")}\n`,
    );
    await expect(texts.join("\n")).toMatchFileSnapshot(`./bad/golden/${name}.txt`);
  });
});
