import type { Command } from "commander";
import type { z } from "zod";
import { gitopsIssues, gitopsStatus, syncAsked, type GitopsStatus, type issue } from "../domain/rest/gitops.ts";
import type { Context } from "./command.ts";
import { shortTime } from "./print.ts";

/** `myrctl gitops status|issues|sync`. */
export function addGitops(program: Command, context: Context): void {
  const gitops = program
    .command("gitops")
    .description("the repository: which commit is in force, and what is wrong with the newest");
  gitops
    .command("status")
    .description("state of the sync, the commit in force, the issues of the newest revision; exit 1 in state error")
    .action(async () => {
      const answer = await (await context.client()).get("/gitops/status", gitopsStatus);
      if (answer.state === "error") context.exitCode(1);
      context.show(answer, () => describe(answer));
    });
  gitops
    .command("issues")
    .description("what validation found in the newest revision, with file and line")
    .action(async () => {
      const answer = await (await context.client()).get("/gitops/issues", gitopsIssues);
      context.show(answer, () => (answer.items.length === 0 ? "no issues" : answer.items.map(issueLine).join("\n")));
    });
  gitops
    .command("sync")
    .description("fetch, validate and apply the head now")
    .action(async () => {
      const answer = await (await context.client()).send("POST", "/gitops/sync", syncAsked);
      context.show(answer, () => `asked for: ${answer.note}`);
    });
}

const issueLine = (it: z.output<typeof issue>): string =>
  `${it.file}:${it.line}:${it.column}: ${it.severity}: ${it.message} (${it.code})${it.hint === undefined ? "" : `; ${it.hint}`}`;

const short = (commit: string | null): string => commit?.slice(0, 7) ?? "none";

function describe(it: GitopsStatus): string {
  const objects = Object.entries(it.objects).map(([kind, count]) => `${kind} ${count}`);
  return [
    `state     ${it.state}${it.error === null ? "" : `: ${it.error.message} (${it.error.code})`}`,
    `in force  ${short(it.appliedCommit)}${it.subject === null ? "" : ` "${it.subject}" by ${it.author}`}, applied ${shortTime(it.appliedAt)}`,
    `newest    ${short(it.seenCommit)}, checked ${shortTime(it.checkedAt)}${it.deliveryWaiting ? ", a delivery waits" : ""}`,
    `objects   ${objects.join(", ") || "none"}`,
    ...(it.issues.length === 0
      ? []
      : [`issues of ${short(it.issuesCommit)}`, ...it.issues.map((one) => `  ${issueLine(one)}`)]),
  ].join("\n");
}
