import type { Command } from "commander";
import { describeNode } from "../domain/depot/node-status.ts";
import { adopted, depotStatus } from "../domain/rest/artifact.ts";
import { depotExplanation, depotList, depotRemoved, drainAnswer, replicationHistory } from "../domain/rest/depot.ts";
import { historyText } from "./artifact-text.ts";
import { wholeNumber, type Context } from "./command.ts";
import { UsageError } from "./connection.ts";
import { depotsText, explanationText } from "./depot-text.ts";

const pathOf = (node: string, call = ""): string => `/depots/${encodeURIComponent(node)}${call && `/${call}`}`;

/** `myrctl depots status|show|explain|history|scrub|adopt|drain|undrain|remove`. */
export function addDepots(program: Command, context: Context): void {
  const depots = program.command("depots").description("artifact store nodes");
  depots
    .command("status")
    .description("which nodes answer, what each has, and what is being copied")
    .action(async () => {
      const answer = await (await context.client()).get("/depots", depotList);
      context.show(answer, () => depotsText(answer));
    });
  depots
    .command("explain")
    .argument("<node>")
    .description("why copies are missing on a node, what happens next and when, and what removing it would cost")
    .action(async (node: string) => {
      const answer = await (await context.client()).get(pathOf(node, "explain"), depotExplanation);
      context.show(answer, () => explanationText(answer));
    });
  depots
    .command("history")
    .argument("[node]", "of one node only")
    .option("--limit <n>", "at most so many", "50")
    .description("what became of copies and nodes, newest first")
    .action(async (node: string | undefined, { limit }: { limit: string }) => {
      const max = wholeNumber(limit, 1, 500);
      if (max === undefined) throw new UsageError("--limit takes a number from 1 to 500");
      const { items } = await (
        await context.client()
      ).get("/replication/history", replicationHistory, { node, limit: max });
      context.show(items, () => historyText(items));
    });
  addCalls(depots, context);
  addLife(depots, context);
}

/** What is asked of one node itself. */
function addCalls(depots: Command, context: Context): void {
  depots
    .command("show")
    .argument("<node>")
    .description("ask one node: its configuration, disks, transfers and scrub")
    .action(async (node: string) => {
      const answer = await (await context.client()).get(pathOf(node, "status"), depotStatus);
      context.show(answer, () => describeNode(answer.nodeId, answer));
    });
  depots
    .command("scrub")
    .argument("<node>")
    .option("--light", "compare sizes only, read no bytes")
    .description("have a node read all its copies again now; a wrong one is put aside and replaced")
    .action(async (node: string, { light = false }: { light?: boolean }) => {
      const body = { kind: light ? "light" : "deep" };
      const answer = await (await context.client()).send("POST", pathOf(node, "scrub"), depotStatus, { body });
      context.show(answer, () => describeNode(answer.nodeId, answer));
    });
  depots
    .command("adopt")
    .argument("<node>")
    .requiredOption("--reason <text>", "why its files belong to this installation")
    .description("let a node that has files but no trusted configuration delete what is not wanted")
    .action(async (node: string, { reason }: { reason: string }) => {
      const answer = await (await context.client()).send("POST", pathOf(node, "adopt"), adopted, { body: { reason } });
      context.show(answer, () => `${answer.nodeId} adopted`);
    });
}

/** How a node goes, and comes back. */
function addLife(depots: Command, context: Context): void {
  for (const [action, description] of [
    ["drain", "serve on, get nothing new, and leave when everything that it has is safe elsewhere"],
    ["undrain", "take copies again"],
  ] as const)
    depots
      .command(action)
      .argument("<node>")
      .option("--reason <text>", "for the audit log")
      .description(description)
      .action(async (node: string, body: { reason?: string }) => {
        const answer = await (await context.client()).send("POST", pathOf(node, action), drainAnswer, { body });
        context.show(answer, () => {
          const what = answer.changed ? answer.state : `was ${answer.state} already`;
          return `${answer.nodeId}: ${what}; ${answer.note}`;
        });
      });
  depots
    .command("remove")
    .argument("<node>")
    .requiredOption("--reason <text>", "for the audit log, and for whoever wonders why")
    .option("--force", "also when it does not answer, or something would be lost")
    .description("forget a node now; its files stay where they are")
    .action(async (node: string, body: { reason: string; force?: boolean }) => {
      const answer = await (await context.client()).send("DELETE", pathOf(node), depotRemoved, { body });
      context.show(answer, () => {
        const { lost, rare } = answer;
        return [
          `${answer.nodeId} removed; ${lost.length === 0 ? "nothing is lost" : "LOST unless it comes back:"}`,
          ...lost.map((name) => `  ${name}`),
          ...(rare.length === 0 ? [] : [`on too few nodes now, copied again: ${rare.join(", ")}`]),
        ].join("\n");
      });
    });
}
