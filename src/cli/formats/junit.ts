/** JUnit XML: one test case per file that was read, and one per other file that has an issue. */
import { isObjectFile, isSampleFile, withBase } from "../../domain/gitops/repository-files.ts";
import type { Issue } from "../../domain/gitops/issue-codes.ts";
import { isBlocking } from "../../domain/gitops/validate.ts";
import { messageOf, type Report } from "./report.ts";

export function junitOf(report: Report): string {
  const { revision, issues, strict } = report;
  const isFailure = (issue: Issue): boolean => strict || isBlocking(issue);
  const read = revision.files.map(({ path }) => path).filter((path) => isObjectFile(path) || isSampleFile(path));
  const files = new Set([...read.map((path) => withBase(revision.limits, path)), ...issues.map(({ file }) => file)]);
  const byFile = Map.groupBy(issues, ({ file }) => file);
  const cases = [...files].toSorted().map((file) => testcase(revision.rooted(file), byFile.get(file) ?? [], isFailure));
  const failures = [...files].filter((file) => byFile.get(file)?.some(isFailure) === true).length;
  const counts = `tests="${files.size}" failures="${failures}" errors="0"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="myrctl validate" ${counts}>`,
    `  <testsuite name="${escapeXml(revision.label)}" ${counts} skipped="0">`,
    ...cases,
    "  </testsuite>",
    "</testsuites>",
  ].join("\n");
}

function testcase(file: string, issues: readonly Issue[], isFailure: (issue: Issue) => boolean): string {
  const open = `    <testcase classname="myrctl.validate" name="${escapeXml(file)}" file="${escapeXml(file)}"`;
  const [failed, noted] = [issues.filter(isFailure), issues.filter((issue) => !isFailure(issue))];
  const [first] = failed;
  if (issues.length === 0) return `${open}/>`;
  const lines = (some: readonly Issue[]): string =>
    escapeXml(
      some.map((it) => `${file}:${it.line}:${it.column}: ${it.severity} ${it.code}: ${messageOf(it)}`).join("\n"),
    );
  return [
    `${open}>`,
    ...(first === undefined
      ? []
      : [
          // one failure per case: readers take the first only
          `      <failure type="${first.code}" message="${escapeXml(messageOf(first))}${more(failed.length)}">${lines(failed)}</failure>`,
        ]),
    ...(noted.length === 0 ? [] : [`      <system-out>${lines(noted)}</system-out>`]),
    "    </testcase>",
  ].join("\n");
}

const more = (failures: number): string => (failures > 1 ? ` (and ${failures - 1} more)` : "");

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

/** XML 1.0 has no way to write most control characters: they are replaced. */
const escapeXml = (text: string): string =>
  text
    .toWellFormed()
    // oxlint-disable-next-line no-control-regex -- exactly those are replaced
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]/g, "\uFFFD")
    .replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
