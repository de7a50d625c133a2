/**
 * `myrctl validate FOLDER`: judges a folder by the very code that the server runs, for merge requests and editors. It
 * needs no server. Exit code 0: valid (warnings allowed), 1: invalid, 2: could not run.
 */
import { constants } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { readFolder } from "../activities/git-reader/read-folder.ts";
import { DEFAULT_BUDGET, runValidation } from "../activities/git-reader/run-validation.ts";
import { ISSUE_CODES, type Issue } from "../domain/gitops/issue-codes.ts";
import { DEFAULT_LIMITS, selectFiles } from "../domain/gitops/repository-files.ts";
import { isBlocking, type Verdict } from "../domain/gitops/validate.ts";
import type { Context } from "./command.ts";
import type { Output } from "./print.ts";

export const VALIDATE_FORMATS = ["text", "json", "github"] as const;
export type ValidateFormat = (typeof VALIDATE_FORMATS)[number];
export type ValidateOptions = {
  folder: string;
  format: ValidateFormat;
  /** Warnings count as errors. */
  strict?: boolean;
};

/** Adds the command to `program`. */
export function addValidate(program: Command, context: Context): void {
  program
    .command("validate")
    .description("judge a folder as the server would judge its commit; needs no server")
    .argument("[folder]", "what gitops.path names", ".")
    .option("--format <format>", `one of ${VALIDATE_FORMATS.join(", ")}`, "text")
    .option("--strict", "warnings are errors too")
    .addHelpText("after", "\nExit codes: 0 valid, 1 invalid, 2 could not run.")
    .action(async (folder: string, options: { format: string; strict?: boolean }) => {
      const isJson = program.opts<{ json?: boolean }>().json === true;
      const format = VALIDATE_FORMATS.find((known) => known === (isJson ? "json" : options.format));
      if (format === undefined) {
        context.io.err(`myrctl: --format must be one of ${VALIDATE_FORMATS.join(", ")}`);
        return context.exitCode(2);
      }
      return context.exitCode(await runValidate({ folder, format, strict: options.strict === true }, context.io));
    });
}

/** Judges the folder and prints what is wrong. Resolves to the exit code. */
export async function runValidate(options: ValidateOptions, io: Output): Promise<number> {
  const { folder, format, strict = false } = options;
  let verdict: Verdict;
  try {
    verdict = await judge(folder);
  } catch (error) {
    io.err(`myrctl: ${folder} cannot be validated: ${error instanceof Error ? error.message : String(error)}`);
    return 2;
  }
  const { issues, objects } = verdict;
  const isValid = !issues.some((issue) => strict || isBlocking(issue));
  const print = { text: printText, json: printJson, github: printGithub }[format];
  io.out(await print(options, issues, objects.length, isValid));
  return isValid ? 0 : 1;
}

async function judge(folder: string): Promise<Verdict> {
  if (!(await stat(folder)).isDirectory()) throw new Error("it is not a folder");
  const files = await readFolder(folder, DEFAULT_LIMITS);
  const selection = selectFiles(files, DEFAULT_LIMITS);
  if (selection.objects.length === 0 && selection.issues.length === 0) throw new Error("it holds no YAML file");
  return runValidation(files, DEFAULT_LIMITS, DEFAULT_BUDGET);
}

type Print = (
  options: ValidateOptions,
  issues: readonly Issue[],
  objects: number,
  isValid: boolean,
) => string | Promise<string>;

const printJson: Print = ({ folder }, issues, objects, isValid) =>
  JSON.stringify({ valid: isValid, folder, objects, issues }, null, 2);

/** Workflow commands of GitHub Actions: each issue becomes an annotation at its line. */
const printGithub: Print = ({ folder }, issues, objects, isValid) => {
  const property = (text: string): string => data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
  const data = (text: string): string => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const lines = issues.map((issue) => {
    const place = `file=${property(pathOf(folder, issue))},line=${issue.line},col=${issue.column}`;
    return `::${issue.severity} ${place},title=${property(issue.code)}::${data(messageOf(issue))}`;
  });
  return [...lines, summaryOf(issues, objects, isValid)].join("\n");
};

/** As compilers print: place, code and message, then the line itself with a caret under the place. */
const printText: Print = async ({ folder }, issues, objects, isValid) => {
  const sources = new Map<string, string[]>();
  const blocks: string[] = [];
  for (const issue of issues) {
    const lines = sources.get(issue.file) ?? (await linesOf(join(folder, issue.file)));
    sources.set(issue.file, lines);
    const place = `${pathOf(folder, issue)}:${issue.line}:${issue.column}`;
    const title = `${place}: ${issue.severity} ${issue.code}: ${visible(messageOf(issue))}`;
    blocks.push([title, ...excerpt(lines, issue), `  = ${ISSUE_CODES[issue.code].todo}`].join("\n"));
  }
  return [...blocks, summaryOf(issues, objects, isValid)].join("\n\n");
};

const pathOf = (folder: string, { file }: Issue): string => (file === "" ? folder : join(folder, file));

const messageOf = ({ path, message, hint }: Issue): string =>
  `${path === "" ? "" : `${path}: `}${message}${hint === undefined ? "" : ` (${hint})`}`;

const summaryOf = (issues: readonly Issue[], objects: number, isValid: boolean): string => {
  const errors = issues.filter(isBlocking).length;
  const counts = `${objects} objects, ${errors} errors, ${issues.length - errors} warnings`;
  return isValid ? `valid: ${counts}` : `invalid: ${counts}`;
};

/** The source line and a caret; nothing for files that are not text here (links, files that are gone). */
function excerpt(lines: readonly string[], { line, column }: Issue): string[] {
  const text = lines[line - 1];
  if (text === undefined || text === "") return [];
  const from = Math.max(0, column - 1 - WIDTH / 2);
  const shown = visible(text.slice(from, from + WIDTH));
  const gutter = String(line);
  return [`  ${gutter} | ${shown}`, `  ${" ".repeat(gutter.length)} | ${" ".repeat(Math.max(0, column - 1 - from))}^`];
}
const WIDTH = 120;
const { O_RDONLY, O_NOFOLLOW } = constants;

/** A repository may hold anything: control characters never reach a terminal. */
// oxlint-disable-next-line no-control-regex -- exactly those are replaced
const visible = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, "\uFFFD");

async function linesOf(path: string): Promise<string[]> {
  try {
    return (await readFile(path, { encoding: "utf8", flag: O_RDONLY | O_NOFOLLOW })).split(/\r\n|\n|\r/);
  } catch (error) {
    // the whole repository, a link (never followed: it may lead to what CI logs must not show): no excerpt
    if (["EISDIR", "ENOENT", "EACCES", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}
