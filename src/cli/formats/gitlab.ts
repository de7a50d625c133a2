import { isBlocking } from "../../domain/gitops/validate.ts";
import { fingerprintsOf, jsonText, messageOf, type Report } from "./report.ts";

/** GitLab's Code Quality report: a JSON array, paths relative to the root of the repository. */
export const gitlabOf = (report: Report): string => {
  const fingerprints = fingerprintsOf(report);
  const findings = report.issues.map((issue) => ({
    description: `${issue.code}: ${messageOf(issue)}`,
    check_name: issue.code,
    fingerprint: fingerprints.get(issue),
    severity: isBlocking(issue) || report.strict ? "critical" : "minor",
    location: { path: report.revision.rooted(issue.file), lines: { begin: issue.line } },
  }));
  return jsonText(findings);
};
