/**
 * `myrctl validate`: judges a folder or a revision of a Git remote by the very code that the server runs, for merge
 * requests and editors. It needs no server. Exit code 0: valid (warnings allowed), 1: invalid, 2: could not run.
 */
import { writeFile } from "node:fs/promises";
import { Option, type Command } from "commander";
import type { Context } from "./command.ts";
import { formatReport, VALIDATE_FORMATS, type ValidateFormat } from "./formats/formats.ts";
import { isValid } from "./formats/report.ts";
import { judge, judging, readComponents, reportOf, type Running } from "./judging.ts";
import { addRemoteOptions, readRevision, type RemoteOptions } from "./revision.ts";

type Options = RemoteOptions & {
  ref?: string;
  format: ValidateFormat;
  output?: string;
  components?: string;
  strict?: boolean;
};

const HELP = `
Formats:
  text     for people: each issue with its source line, a caret, a hint and what to do
  json     {valid, source, objects, issues}; issues as the server stores them
  github   annotations of a GitHub Actions run
  gitlab   a Code Quality report (artifacts:reports:codequality)
  sarif    SARIF 2.1.0, for code scanning
  junit    JUnit XML, one test case per file
With every format but text and github, standard output holds the document and nothing else.
Colours appear on a terminal only; NO_COLOR=1 turns them off, FORCE_COLOR=1 on.

Exit codes: 0 valid, 1 invalid, 2 could not run.

Examples:
  myrctl validate                        the working directory
  myrctl validate deploy --strict        the folder that gitops.path names; warnings are errors
  myrctl validate --format gitlab --output gl-code-quality-report.json
  myrctl validate --git https://git.example.com/fleet.git --ref main --path deploy
  myrctl validate --components <(otelcol-contrib components)`;

/** Adds the command to `program`. */
export function addValidate(program: Command, context: Context): void {
  const command = program
    .command("validate")
    .description("judge a folder or a Git revision as the server would judge it; needs no server")
    .argument("[folder]", "the folder to judge (default: the working directory)");
  addRemoteOptions(command, "ref")
    .addOption(new Option("--format <format>", "how to print").choices([...VALIDATE_FORMATS]).default("text"))
    .option("--output <file>", "write the document of --format there, and the text for people to standard output")
    .option("--components <file>", "check component names against what `otelcol components` printed")
    .option("--strict", "warnings are errors too")
    .addHelpText("after", HELP)
    .action((folder: string | undefined, options: Options) => {
      const isJson = program.opts<{ json?: boolean }>().json === true;
      const chosen = { ...options, ...(isJson && { format: "json" as const }) };
      return judging(context, (running) => runValidate(folder, chosen, context, running));
    });
}

async function runValidate(
  folder: string | undefined,
  options: Options,
  context: Context,
  running: Running,
): Promise<number> {
  const components = options.components === undefined ? undefined : await readComponents(options.components);
  const revision = await readRevision(folder, options, running.signal);
  const verdict = await judge(revision, running, components);
  const report = reportOf(revision, verdict, options.strict === true);
  const document = formatReport(options.format, report, context);
  if (options.output === undefined) context.io.out(document);
  else {
    await writeFile(options.output, `${document}\n`);
    context.io.out(formatReport("text", report, context));
  }
  return isValid(report) ? 0 : 1;
}
