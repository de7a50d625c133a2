/** `myrctl agents show|config|restart|resync`: one agent. */
import { InvalidArgumentError, type Command } from "commander";
import type { z } from "zod";
import { agentConfig, commandAnswer } from "../domain/rest/agent-config.ts";
import { agentDetail, type agent } from "../domain/rest/agent.ts";
import type { Context } from "./command.ts";
import { shortTime, table } from "./print.ts";

type Agent = z.output<typeof agent>;
type Detail = z.output<typeof agentDetail>;
type Config = z.output<typeof agentConfig>;

/** `incompatible` for configurations, `drift` for what runs. */
export const configWord = ({ remoteConfig: { state, drift } }: Agent): string =>
  state === "applied" && drift !== null && drift.length > 0 ? "applied, drift" : state;

export const stateWord = ({ connected, healthy, healthStatus, health }: Agent): string => {
  if (!connected) return "offline";
  if (!healthy) return `unhealthy ${healthStatus}`.trim();
  return health.ok ? "healthy" : "not running";
};

const uidArgument = (text: string): string => {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError("want the UID of an agent: myrctl agents list shows it");
};

export function addOneAgent(agents: Command, context: Context): void {
  agents
    .command("show")
    .argument("<uid>", "of the agent", uidArgument)
    .description("everything that is known of one agent")
    .action(async (uid: string) => {
      const client = await context.client();
      const it = await client.get(`/agents/${uid}`, agentDetail);
      context.show(it, () => describe(it));
    });
  agents
    .command("config")
    .argument("<uid>", "of the agent", uidArgument)
    .description("the configuration that an agent was sent, what it runs (secrets masked), and the difference")
    .option("--sent", "only the bytes that it was sent")
    .option("--effective", "only what it runs")
    .option("--diff", "only the difference (default: what is there of all three)")
    .action(async (uid: string, options: ConfigOptions) => {
      const client = await context.client();
      const it = await client.get(`/agents/${uid}/config`, agentConfig);
      context.show(it, () => configText(it, options));
    });
  for (const [kind, does] of COMMANDS)
    agents
      .command(kind)
      .argument("<uid>", "of the agent", uidArgument)
      .description(does)
      .option("--reason <text>", "why, for the audit log")
      .action(async (uid: string, { reason }: { reason?: string }) => {
        const client = await context.client();
        const body = reason === undefined ? {} : { reason };
        const it = await client.send("POST", `/agents/${uid}/${kind}`, commandAnswer, { body });
        context.show(it, () => `${it.hostName}: ${kind} sent${sentText(it.configHash)}`);
      });
}

const COMMANDS = [
  ["restart", "restart the collector of one agent; not while its host is being changed"],
  ["resync", "send an agent its configuration again, also one that it refused, and ask it for everything it knows"],
] as const;

const sentText = (hash: string | null): string => (hash === null ? "" : ` with configuration ${hash.slice(0, 12)}`);

type ConfigOptions = { sent?: boolean; effective?: boolean; diff?: boolean };

function configText(it: Config, options: ConfigOptions): string {
  const all = options.sent !== true && options.effective !== true && options.diff !== true;
  const sent = it.sent?.yaml ?? "# nothing of ours was sent, or its bytes are not kept";
  const running =
    it.effective?.files
      .map(({ name, yaml }) => `${name === "" ? "" : `# ${name}\n`}${yaml ?? "# cannot be read"}`)
      .join("---\n") ?? "# it reported none, or none that can be read";
  const parts: [string, string][] = [];
  if (all || options.sent === true) parts.push(["sent", sent]);
  if (all || options.effective === true) parts.push(["effective", running]);
  if (all || options.diff === true) parts.push(["difference", diffText(it)]);
  const single = parts.length === 1 ? parts[0]?.[1] : undefined;
  return single ?? parts.map(([title, text]) => `# --- ${title}\n${text.trimEnd()}`).join("\n");
}

const diffText = ({ diff }: Config): string =>
  diff === null ? "# nothing to compare" : diff === "" ? "# it runs what it was sent" : diff;

const orDash = (text: string | null | undefined): string =>
  text === null || text === undefined || text === "" ? "-" : text;

function describe(it: Detail): string {
  const { remoteConfig: config, updater } = it;
  const lines: [string, string][] = [
    ["host", it.hostName],
    ["kind", `${it.kind}: ${it.kindReason}`],
    ["now", it.why],
    ["runs", `${orDash(it.version)} (${it.serviceName}, ${it.os}/${it.arch})`],
    ["wants", orDash(it.wants.version)],
    ["fleet", `${orDash(it.fleet)}: ${it.fleetReason}`],
    ["state", `${stateWord(it)}${it.health.because === "" ? "" : `: ${it.health.because}`}`],
    ["unhealthy", orDash(it.unhealthyComponents.join(", "))],
    ["last seen", shortTime(it.lastSeenAt)],
    ["config", `${configWord(it)}: ${config.text}`],
    ["config hash", `${orDash(config.hash)}, sent ${orDash(config.sentHash)} at ${shortTime(config.sentAt)}`],
    ["missing", orDash(config.missing.join(", "))],
    ["drift", config.drift === null ? "not judged" : orDash(config.drift.join(", "))],
    ["offered", it.offered === null ? "-" : `${it.offered.kind} ${it.offered.version ?? ""}`.trim()],
    ["attempt", it.phase === null ? "-" : `${it.phase} since ${shortTime(it.phaseSince)}`],
    ["updater", `${it.link.state}: ${it.link.reason}${it.link.uid === null ? "" : ` (${it.link.uid})`}`],
  ];
  if (updater !== null)
    lines.push(
      ["installed by", orDash(updater.installMethod)],
      ["service", orDash(updater.supervisorService)],
      ["endpoint", orDash(updater.serverEndpoint)],
      ["image", orDash(updater.imageCollectorVersion)],
      ["downloads from", updater.downloadBase],
      ["package", packageText(updater.package)],
    );
  const head = table(
    lines.map(([key, value]) => ({ key, value })),
    [
      ["", (row) => row.key],
      ["", (row) => row.value],
    ],
    "",
  );
  const events = table(
    it.connections,
    [
      ["CONNECTION", (row) => shortTime(row.at)],
      ["", (row) => row.event],
      ["", (row) => row.detail],
    ],
    "no connection events",
  );
  return `${head.trim()}\n\n${events}`;
}

type Package = NonNullable<Detail["updater"]>["package"];
const packageText = (it: Package): string =>
  it === null ? "-" : [it.status, it.version, it.error].filter((part) => part !== "").join(", ");
