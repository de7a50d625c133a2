/** How many passed and failed, added up over programs: each appends a line to the file that MYRIARCH_COUNTS names. */
import { appendFileSync, readFileSync } from "node:fs";

export type Counts = { passed: number; failed: number; skipped: number };

export const addCounts = (a: Counts, b: Counts): Counts => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: a.skipped + b.skipped,
});
export const NONE: Counts = { passed: 0, failed: 0, skipped: 0 };

/** The line that automation reads: `N passed, N failed`, and what was skipped if anything was. */
export const countLine = ({ passed, failed, skipped }: Counts): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;

export function recordCounts(counts: Counts): void {
  const file = process.env["MYRIARCH_COUNTS"];
  if (file) appendFileSync(file, `${JSON.stringify(counts)}\n`);
}

/** The sum of a counts file. */
export const sumCounts = (file: string): Counts =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Counts)
    .reduce(addCounts, NONE);

export type Report = {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: {
    name?: string;
    status: string;
    message?: string;
    assertionResults: { status: string; fullName?: string; failureMessages?: string[] | null }[];
  }[];
};

/** Counts of vitest's JSON report. A file that failed without a failed test (it did not load) is one failure. */
export function countReport(report: Report, exitCode: number | null): Counts {
  const broken = report.testResults.filter(
    ({ status, assertionResults }) => status === "failed" && !assertionResults.some((test) => test.status === "failed"),
  ).length;
  const failed = report.numFailedTests + broken;
  return {
    passed: report.numPassedTests,
    // An error outside of any test, or in a set-up, fails the run without failing a test.
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

const LINES_OF_A_FAILURE = 6;

/** What failed, a few lines each, for the end of a long run: of its output the end may be all that is kept. */
export function describeFailures({ testResults }: Report, root: string): string[] {
  return testResults.flatMap(({ name = "?", status, message = "", assertionResults }) => {
    const file = name.startsWith(root) ? name.slice(root.length + 1) : name;
    const failed = assertionResults.filter((test) => test.status === "failed");
    if (failed.length === 0) return status === "failed" ? [`FAILED ${file}\n${shorten(message)}`] : [];
    return failed.map(
      ({ fullName = "?", failureMessages }) =>
        `FAILED ${file}: ${fullName}\n${shorten((failureMessages ?? []).join("\n"))}`,
    );
  });
}

const shorten = (text: string): string =>
  text
    .split("\n")
    .slice(0, LINES_OF_A_FAILURE)
    .map((line) => `    ${line.slice(0, 200)}`)
    .join("\n");
