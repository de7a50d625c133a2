import type { Command } from "commander";
import type { z } from "zod";
import { describeNode } from "../domain/depot/node-status.ts";
import { adopted, artifactList, depotList, depotStatus, type artifact, type depot } from "../domain/rest/artifact.ts";
import type { Context } from "./command.ts";
import { shortTime, table, type Column } from "./print.ts";

type Artifact = z.output<typeof artifact>;
type Depot = z.output<typeof depot>;

/** `myrctl artifacts list`, `depots status|show|scrub|adopt`. */
export function addArtifacts(program: Command, context: Context): void {
  program
    .command("artifacts")
    .description("archives of releases: how each was verified, and its copies")
    .command("list")
    .description("list artifacts")
    .action(async () => {
      const { items } = await (await context.client()).get("/artifacts", artifactList);
      const none = "no artifacts yet: they are fetched when a rollout needs them";
      context.show(items, () => table(items, ARTIFACT_COLUMNS, none));
    });
  const depots = program.command("depots").description("artifact store nodes");
  depots
    .command("status")
    .description("which nodes answer, at which generation, with how many copies")
    .action(async () => {
      const answer = await (await context.client()).get("/depots", depotList);
      context.show(answer, () =>
        [
          `wanted ${answer.wanted} artifacts at generation ${answer.generation}, each on at least ${answer.minCopies} nodes`,
          table(answer.items, DEPOT_COLUMNS, "no depots are registered"),
          ...answer.executions
            .slice(0, 1)
            .map(
              (it) =>
                `last replication: ${it.state} (${it.cause}), began ${shortTime(it.startedAt)}, ended ${shortTime(it.finishedAt)}`,
            ),
        ].join("\n\n"),
      );
    });
  addNodeCommands(depots, context);
}

/** What is asked of one node. */
function addNodeCommands(depots: Command, context: Context): void {
  depots
    .command("show")
    .argument("<node>")
    .description("ask one node: its configuration, disks, transfers and scrub")
    .action(async (node: string) => {
      const path = `/depots/${encodeURIComponent(node)}/status`;
      const answer = await (await context.client()).get(path, depotStatus);
      context.show(answer, () => describeNode(answer.nodeId, answer));
    });
  depots
    .command("scrub")
    .argument("<node>")
    .option("--light", "compare sizes only, read no bytes")
    .description("have a node read all its copies again now; a wrong one is put aside and replaced")
    .action(async (node: string, { light = false }: { light?: boolean }) => {
      const path = `/depots/${encodeURIComponent(node)}/scrub`;
      const body = { kind: light ? "light" : "deep" };
      const answer = await (await context.client()).send("POST", path, depotStatus, { body });
      context.show(answer, () => describeNode(answer.nodeId, answer));
    });
  depots
    .command("adopt")
    .argument("<node>")
    .requiredOption("--reason <text>", "why its files belong to this installation")
    .description("let a node that has files but no trusted configuration delete what is not wanted")
    .action(async (node: string, { reason }: { reason: string }) => {
      const path = `/depots/${encodeURIComponent(node)}/adopt`;
      const answer = await (await context.client()).send("POST", path, adopted, { body: { reason } });
      context.show(answer, () => `${answer.nodeId} adopted`);
    });
}

const ARTIFACT_COLUMNS: Column<Artifact>[] = [
  ["RELEASE", (it) => `${it.distribution} ${it.version}`],
  ["PLATFORM", (it) => it.platform],
  ["STATE", (it) => (it.error === null ? it.state : `${it.state}: ${it.error.code}`)],
  ["SHA-256", (it) => it.sha256?.slice(0, 12)],
  ["SIGNED BY", (it) => it.verification?.identity.split("@").at(-1)],
  [
    "COPIES",
    (it) => it.copies.map(({ node, answering }) => (answering ? node : `${node} (silent)`)).join(", ") || "none",
  ],
  ["REPLICATION", (it) => it.replication],
];

const DEPOT_COLUMNS: Column<Depot>[] = [
  ["NODE", (it) => it.nodeId],
  ["ZONE", (it) => it.zone],
  ["STATE", (it) => it.state],
  ["ANSWERS", (it) => (it.answering ? "yes" : `no: ${it.error ?? "not asked yet"}`)],
  ["LAST ANSWER", (it) => shortTime(it.answeredAt)],
  ["GENERATION", (it) => it.generation],
  ["COPIES", (it) => it.copies],
  ["DISKS", (it) => it.disks.map(({ path, state }) => `${path} ${state}`).join(", ")],
];
