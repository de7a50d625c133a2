/** A table of bad repositories with golden issues: what an author sees for each kind of fault (bad/golden/*.txt). */
import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { runValidation } from "../../activities/git-reader/run-validation.ts";
import { createGitRemote } from "../../activities/git-remote.ts";
import { isFailure } from "../errors.ts";
import { ISSUE_CODES, type Issue, type IssueCode } from "./issue-codes.ts";
import { CONFIGURATIONS, PARAMETERS, REFERENCES, TEMPLATES } from "./bad/between.ts";
import { FILES, SAMPLES, TOGETHER } from "./bad/files.ts";
import { ENVELOPE, FLEETS, OTHERS, POLICIES, SECRETS } from "./bad/objects.ts";
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
  secrets: SECRETS,
  references: REFERENCES,
  parameters: PARAMETERS,
  templates: TEMPLATES,
  configurations: CONFIGURATIONS,
  files: FILES,
  samples: SAMPLES,
  together: TOGETHER,
};

const judged = new Map<BadCase, Issue[]>();
function issuesOf(it: BadCase): Issue[] {
  const { files, limits, modes, secrets } = it;
  const all = { ...DEFAULT_LIMITS, ...limits };
  const issues = judged.get(it) ?? validateRevision(repositoryOf(files, modes), all, secrets && { secrets }).issues;
  judged.set(it, issues);
  return issues;
}

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

/** Why the place of an issue cannot be, or undefined. */
function placeProblem(issue: Issue, { files, limits }: BadCase): string | undefined {
  if (issue.severity !== ISSUE_CODES[issue.code].severity) return "another severity than its code";
  const base = limits?.base === undefined ? "" : `${limits.base}/`;
  const content = repositoryOf(files).find(({ path }) => `${base}${path}` === issue.file)?.bytes;
  if (content === undefined) return issue.file === "" && issue.line === 1 ? undefined : "no such file";
  const lines = new TextDecoder().decode(content).split("\n");
  if (issue.line < 1 || issue.line > lines.length) return "no such line";
  const { length } = lines[issue.line - 1] ?? "";
  return issue.column < 1 || issue.column > length + 1 ? "no such column" : undefined;
}

const placeKey = ({ file, line, column }: Issue): string =>
  `${file}\0${String(line).padStart(9, "0")}\0${String(column).padStart(9, "0")}`;

/** What no file alone can show: the stage that gives the code is run. */
const STAGES: { what: string; code: IssueCode; run: () => Promise<IssueCode[]> }[] = [
  {
    what: "a revision that takes longer than its time budget",
    code: "time_budget_exceeded",
    run: async () => {
      const files = repositoryOf({ "fleets/x.yaml": `a: [${"[1, 2, 3], ".repeat(200_000)}]\n` });
      const { issues } = await runValidation(files, DEFAULT_LIMITS, { revisionMs: 20, fileMs: 60_000 });
      return issues.map(({ code }) => code);
    },
  },
  {
    what: "a branch whose name could be an option of git",
    code: "sync_failed",
    run: async () => {
      const settings = { url: "https://git.example.com/x", path: "", timeoutMs: 1_000, cloneDir: tmpdir() };
      const create = async () => createGitRemote({ ...settings, branch: "--upload-pack=touch /tmp/x" });
      const refused: unknown = await create().catch((error: unknown) => error);
      return isFailure(refused) ? [refused.code as IssueCode] : [];
    },
  },
];

test.each(STAGES)("$what gives $code", async ({ code, run }) => {
  expect(await run()).toEqual([code]);
});

test("every code of the catalogue has a case", () => {
  const cases = [
    ...Object.values(TABLES).flatMap((table) => table.flatMap(({ codes }) => codes)),
    ...STAGES.map(({ code }) => code),
  ];
  expect(Object.keys(ISSUE_CODES).filter((code) => !cases.includes(code as IssueCode))).toEqual([]);
});

describe.each(Object.entries(TABLES))("%s", (name, cases) => {
  test.each(cases.map((it): [string, BadCase] => [it.what, it]))("%s gives its codes and no others", (_, it) => {
    expect([...new Set(issuesOf(it).map(({ code }) => code))].toSorted()).toEqual(it.codes.toSorted());
  });

  test("every issue stands at a place that there is, in order, with the severity of its code", () => {
    for (const it of cases) {
      const issues = issuesOf(it);
      for (const issue of issues) expect(placeProblem(issue, it), JSON.stringify(issue)).toBeUndefined();
      expect(issues.map(placeKey)).toEqual(issues.map(placeKey).toSorted());
    }
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
