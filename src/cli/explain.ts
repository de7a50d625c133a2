/** `myrctl explain agent`: why a host is as it is, in one sentence first, then back to where all of it comes from. */
import type { Command } from "commander";
import type { z } from "zod";
import { agentPage, explanation } from "../domain/rest/agent.ts";
import { everyPage, type Client } from "./client.ts";
import type { Context } from "./command.ts";
import { UsageError } from "./connection.ts";
import { plain } from "./print.ts";
import { nextLines } from "./target-text.ts";

type Explanation = z.output<typeof explanation>;

export function addExplain(program: Command, context: Context): void {
  program
    .command("explain")
    .description("why something is as it is")
    .command("agent")
    .argument("<host>", "UID or host name")
    .description(
      "why this host is not updated, and where what it runs comes from: artifact, signer, rollout, commit, file",
    )
    .action(async (host: string) => explainAgent(context, host));
}

export async function explainAgent(context: Context, host: string): Promise<void> {
  const client = await context.client();
  const uid = UID.test(host) ? host.toLowerCase() : await uidOf(client, host);
  const answer = await client.get(`/agents/${uid}/explain`, explanation);
  context.show(answer, () => explanationText(answer));
}

const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The list is asked for a part of the name: it may hold every agent. */
const MAX_NAMESAKES = 1_000_000;

/** The collector of this name: what is updated is the collector. */
async function uidOf(client: Client, host: string): Promise<string> {
  const rows = await everyPage(
    (cursor) => client.get("/agents", agentPage, { host, cursor, limit: 500 }),
    MAX_NAMESAKES,
  );
  const named = rows.filter(({ hostName }) => hostName.toLowerCase() === host.toLowerCase());
  const collectors = named.filter(({ kind }) => kind === "collector");
  const [found, ...others] = collectors.length > 0 ? collectors : named;
  if (found === undefined)
    throw new UsageError(`no agent has the host name ${host}: myrctl agents list --host ${host}`);
  if (others.length > 0)
    throw new UsageError(
      `${host} names ${others.length + 1} agents; say which: ${[found, ...others].map(({ uid }) => uid).join(", ")}`,
    );
  return found.uid;
}

/** The sentence first; whoever reads on finds the way back to artifact, commit and object. */
export function explanationText(it: Explanation): string {
  const because = it.because.map(({ what, why }) => `  ${plain(what)}\n    because: ${plain(why)}`);
  return [
    [it.says, ...nextLines(it)].map(plain).join("\n"),
    walkText("Where its version comes from", it.version),
    walkText("Where its configuration comes from", it.configuration),
    because.length === 0 ? "" : ["What it is", ...because].join("\n"),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

const STEP_WIDTH = 15;
const walkText = (title: string, lines: Explanation["version"]): string =>
  lines.length === 0
    ? ""
    : [title, ...lines.map(({ step, says }) => `  ${step.replace("_", " ").padEnd(STEP_WIDTH)}${plain(says)}`)].join(
        "\n",
      );
