import { isValid, jsonText, type Report } from "./report.ts";

/** One document; `issues` are exactly what the server stores for such a revision. */
export const jsonOf = (report: Report): string => {
  const { revision, objects, issues } = report;
  return jsonText({ valid: isValid(report), source: revision.label, ...revision.git, objects, issues });
};
