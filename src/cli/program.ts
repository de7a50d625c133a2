/** myrctl: its commands, and which exit code says what. */
import { Command, CommanderError } from "commander";
import { createJudge, DEFAULT_BUDGET, type Judge } from "../activities/git-reader/run-validation.ts";
import { addAgents } from "./agents.ts";
import { addArtifacts } from "./artifacts.ts";
import { addAudit } from "./audit.ts";
import { ApiProblem, NoAnswer } from "./client.ts";
import { contextOf } from "./command.ts";
import { UsageError } from "./connection.ts";
import { addDepots } from "./depots.ts";
import { addDiff } from "./diff.ts";
import { addExplain } from "./explain.ts";
import { addFleets } from "./fleets.ts";
import { addGitops } from "./gitops.ts";
import { addNotices } from "./notices.ts";
import type { Output } from "./print.ts";
import { addInit } from "./init.ts";
import { addPlan } from "./plan.ts";
import { addRender } from "./render.ts";
import { addReleases } from "./releases.ts";
import { addRollouts } from "./rollouts.ts";
import { addSchema } from "./schema.ts";
import { addTokens } from "./tokens.ts";
import { addUpload } from "./upload.ts";
import { addValidate } from "./validate.ts";

const EXIT = { done: 0, refused: 1, usage: 2, noAnswer: 3 } as const;

const EXIT_HELP = `
Which server, as whom: --server and --token-file, else MYRIARCH_SERVER and MYRIARCH_TOKEN_FILE, else what a running
quickstart left in .myriarch/cli.json (or $MYRIARCH_DATA/cli.json).
Exit codes: 0 done, 1 refused by the server or found wrong, 2 wrong use, 3 no answer (repeating is safe).`;

/** Runs one command line (without node and program). Never throws; resolves to the exit code. */
export async function runMyrctl(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  io: Output,
  version: string,
  judge = (): Judge => createJudge(DEFAULT_BUDGET),
): Promise<number> {
  let exitCode: number = EXIT.done;
  const program = new Command("myrctl")
    .description("The command line of Myriarch for people and CI.")
    .version(version)
    .option("--server <url>", "the server, for example https://fleet.example.com")
    .option("--token-file <file>", "file with an API token")
    .option("--json", "print JSON")
    .addHelpText("after", EXIT_HELP)
    .configureOutput({ writeOut: (text) => io.out(text.trimEnd()), writeErr: (text) => io.err(text.trimEnd()) })
    .exitOverride();
  const context = contextOf(program, env, io, judge, (code) => {
    exitCode = code;
  });
  const repository = [addInit, addValidate, addRender, addDiff, addSchema];
  const server = [
    addAgents,
    addExplain,
    addFleets,
    addRollouts,
    addGitops,
    addPlan,
    addArtifacts,
    addDepots,
    addUpload,
    addReleases,
    addNotices,
    addTokens,
    addAudit,
  ];
  for (const add of [...repository, ...server]) add(program, context);
  inherit(program);
  try {
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    return explain(error, io);
  }
}

/** Subcommands end by error and write like the program. */
function inherit(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inherit(child);
  }
}

function explain(error: unknown, io: Output): number {
  // commander has written help or its own message already
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof UsageError) {
    io.err(`myrctl: ${error.message}`);
    return EXIT.usage;
  }
  if (error instanceof ApiProblem) {
    const { code, detail, status, requestId, issues = [] } = error.problem;
    io.err(`myrctl: ${detail} (${code}, request ${requestId})`);
    for (const issue of issues) io.err(`  ${issue.path}: ${issue.message}`);
    return status >= 500 ? EXIT.noAnswer : EXIT.refused;
  }
  if (error instanceof NoAnswer) {
    io.err(`myrctl: ${error.message}`);
    return EXIT.noAnswer;
  }
  io.err(`myrctl: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return EXIT.refused;
}
