import { expect, test } from "vitest";
import { addCounts, countLine, countReport, describeFailures } from "./counts.ts";

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((status) => ({ status })),
});
const report = (passed: number, failed: number, pending: number, ...testResults: ReturnType<typeof file>[]) => ({
  numPassedTests: passed,
  numFailedTests: failed,
  numPendingTests: pending,
  numTodoTests: 0,
  testResults,
});

test.each([
  ["all passed", report(2, 0, 0, file("passed", "passed", "passed")), 0, "2 passed, 0 failed"],
  ["skipped ones are told", report(1, 0, 3, file("passed", "passed")), 0, "1 passed, 0 failed, 3 skipped"],
  ["a failed test", report(1, 1, 0, file("failed", "passed", "failed")), 1, "1 passed, 1 failed"],
  ["a file that does not load", report(1, 0, 0, file("failed"), file("passed", "passed")), 1, "1 passed, 1 failed"],
  ["a set-up that fails", report(0, 0, 0), 1, "0 passed, 1 failed"],
  ["an error outside of every test", report(1, 0, 0, file("passed", "passed")), 1, "1 passed, 1 failed"],
])("%s", (_, json, exitCode, line) => {
  expect(countLine(countReport(json, exitCode))).toBe(line);
});

test("counts add up", () => {
  expect(addCounts({ passed: 1, failed: 2, skipped: 3 }, { passed: 10, failed: 20, skipped: 30 })).toEqual({
    passed: 11,
    failed: 22,
    skipped: 33,
  });
});

test("what failed is told in a few lines: each test with its message, and a file that did not load", () => {
  const failures = describeFailures(
    {
      ...report(1, 1, 0),
      testResults: [
        { name: "/here/a.test.ts", status: "passed", assertionResults: [{ status: "passed", fullName: "fine" }] },
        {
          name: "/here/b.test.ts",
          status: "failed",
          assertionResults: [
            { status: "failed", fullName: "adds up", failureMessages: ["expected 1 to be 2\n1\n2\n3\n4\n5\n6"] },
          ],
        },
        { name: "/here/c.test.ts", status: "failed", message: "Cannot find module", assertionResults: [] },
      ],
    },
    "/here",
  );
  expect(failures).toEqual([
    "FAILED b.test.ts: adds up\n    expected 1 to be 2\n    1\n    2\n    3\n    4\n    5",
    "FAILED c.test.ts\n    Cannot find module",
  ]);
});
