import type { Command } from "commander";
import { agentPage } from "../domain/rest/agent.ts";
import { everyPage } from "./client.ts";
import { UsageError } from "./connection.ts";
import { wholeNumber, type Context } from "./command.ts";
import { explainAgent } from "./explain.ts";
import { addOneAgent, configWord, stateWord } from "./one-agent.ts";
import { shortTime, table } from "./print.ts";

type ListOptions = {
  fleet?: string;
  kind?: string;
  runs?: string;
  host?: string;
  connected?: boolean;
  unassigned?: boolean;
  limit: string;
};

/** `myrctl agents list|show|explain|config|restart|resync`. */
export function addAgents(program: Command, context: Context): void {
  const agents = program.command("agents").description("what the agents report, should have and are offered");
  agents
    .command("list")
    .description("list agents by host name")
    .option("--fleet <name>", "of this fleet")
    .option("--kind <kind>", "collector, updater or unknown", "collector")
    .option("--runs <version>", "that report this version")
    .option("--host <text>", "whose host name contains this")
    .option("--connected", "that are connected")
    .option("--unassigned", "that belong to no fleet")
    .option("--limit <n>", "at most so many", "10000")
    .action(async (options: ListOptions) => list(context, options));
  agents
    .command("explain")
    .argument("<host>", "UID or host name")
    .description("the same as myrctl explain agent: why it is not updated, and where what it runs comes from")
    .action(async (host: string) => explainAgent(context, host));
  addOneAgent(agents, context);
}

async function list(context: Context, options: ListOptions): Promise<void> {
  const { limit, runs: version, ...filter } = options;
  const max = wholeNumber(limit, 1, 1_000_000);
  if (max === undefined) throw new UsageError("--limit takes a number from 1 on");
  const client = await context.client();
  const pageSize = Math.min(max, 500);
  const rows = await everyPage(
    (cursor) => client.get("/agents", agentPage, { ...filter, version, cursor, limit: pageSize }),
    max,
  );
  context.show(rows, () =>
    table(
      rows,
      [
        ["HOST", (it) => it.hostName],
        ["UID", (it) => it.uid],
        ["FLEET", (it) => it.fleet],
        ["WANTS", (it) => it.wants.version],
        ["OFFERED", (it) => it.offered && (it.offered.version ?? it.offered.kind)],
        ["RUNS", (it) => it.version],
        ["CONFIG", (it) => configWord(it)],
        ["STATE", (it) => stateWord(it)],
        ["PHASE", (it) => it.phase],
        ["UPDATER", (it) => it.link.state],
        ["LAST SEEN", (it) => shortTime(it.lastSeenAt)],
      ],
      "no agent matches",
    ),
  );
}
