import { messageOf, summaryOf, type Report } from "./report.ts";

/** Workflow commands of GitHub Actions: each issue becomes an annotation at its line. Then the summary line. */
export const githubOf = (report: Report): string => {
  const data = (text: string): string => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const property = (text: string): string => data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
  const lines = report.issues.map((issue) => {
    const file = property(report.revision.rooted(issue.file));
    const place = `file=${file},line=${issue.line},col=${issue.column}`;
    return `::${issue.severity} ${place},title=${property(issue.code)}::${data(messageOf(issue))}`;
  });
  return [...lines, summaryOf(report)].join("\n");
};
