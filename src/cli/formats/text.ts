/** For people: grouped by file, each issue with its source line and a caret, the hint, and what to do. */
import { ISSUE_CODES, type Issue } from "../../domain/gitops/issue-codes.ts";
import { withBase } from "../../domain/gitops/repository-files.ts";
import { isBlocking } from "../../domain/gitops/validate.ts";
import { visible, widthOf, type Paint } from "../terminal.ts";
import { isValid, subjectOf, summaryOf, type Report } from "./report.ts";

/** The report, ending with the summary line. */
export function textOf(report: Report, paint: Paint): string {
  const groups = Map.groupBy(report.issues, ({ file }) => file);
  const blocks = [...groups].flatMap(([file, issues]) => {
    const lines = linesOf(report, file);
    const gutter = Math.max(...issues.map(({ line }) => String(line).length));
    const found = issues.map((issue) => issueText(issue, lines, gutter, paint));
    return [[paint("bold", visible(report.revision.shown(file))), ...found].join("\n\n")];
  });
  const summary = paint(isValid(report) ? "green" : "red", summaryOf(report));
  return [...blocks, summary].join("\n\n");
}

function issueText(issue: Issue, lines: readonly string[], gutter: number, paint: Paint): string {
  const { line, column, severity, code, message, hint } = issue;
  const place = paint("cyan", `${line}:${column}`);
  const title = `  ${place}  ${paint(isBlocking(issue) ? "red" : "yellow", severity)} ${code}: ${visible(message)}`;
  const subject = subjectOf(issue);
  const notes = [
    ...(subject === "" ? [] : [`in ${visible(subject)}`]),
    ...(hint === undefined ? [] : [`hint: ${visible(hint)}`]),
    `to do: ${ISSUE_CODES[code].todo}`,
  ];
  const margin = " ".repeat(gutter + 4);
  return [
    title,
    ...excerpt(lines, issue, gutter, paint),
    ...notes.map((note) => `${margin}${paint("dim", "=")} ${note}`),
  ].join("\n");
}

/** The source line with a caret under the place; nothing for files that are not text here (links, missing ones). */
function excerpt(lines: readonly string[], { line, column }: Issue, gutter: number, paint: Paint): string[] {
  const text = lines[line - 1];
  if (text === undefined || text.trim() === "") return [];
  const at = Math.min(column - 1, text.length);
  const from = text.length <= WIDTH ? 0 : Math.max(0, at - WIDTH / 2);
  const shown = (part: string): string => visible(part.replaceAll("\t", TAB));
  const before = shown((from > 0 ? "…" : "") + text.slice(from, at));
  const rest = text.slice(at, from + WIDTH);
  const after = shown(rest) + (from + WIDTH < text.length ? "…" : "");
  const marked = WORD.exec(rest)?.[0] ?? "";
  const carets = "^".repeat(Math.max(1, widthOf(shown(marked))));
  const bar = paint("dim", "|");
  const number = paint("dim", String(line).padStart(gutter));
  return [
    `    ${number} ${bar} ${before}${after}`,
    `    ${" ".repeat(gutter)} ${bar} ${" ".repeat(widthOf(before))}${paint("red", carets)}`,
  ];
}
const WIDTH = 120;
/** A terminal's tab stops depend on what stands before the line; a fixed width keeps the caret right. */
const TAB = "    ";
/** What the caret underlines: the word or the quoted text at the place. */
const WORD = /^(?:"[^"]*"|'[^']*'|[\p{L}\p{N}_./$-]+)/u;

/** From the bytes that were judged: nothing is read again, no link is followed. */
function linesOf({ revision }: Report, file: string): string[] {
  const found = revision.files.find(({ path }) => withBase(revision.limits, path) === file);
  if (found?.bytes === undefined) return [];
  return new TextDecoder().decode(found.bytes).split(/\r?\n/);
}
