/** `myrctl plan`: what a revision, or a folder as it is on disk, would change now. Asks the server's planner; changes nothing. */
import type { Command } from "commander";
import { planPreview, type PlanPreview } from "../domain/rest/plan.ts";
import type { Context } from "./command.ts";
import { UsageError } from "./connection.ts";
import { plural, shortTime, table } from "./print.ts";
import { readRevision } from "./revision.ts";

type Fleet = PlanPreview["fleets"][number];
type Named = Fleet["refusedHosts"][number];

const HOSTS_SHOWN = 10;

export function addPlan(program: Command, context: Context): void {
  program
    .command("plan")
    .argument("[revision]", "branch, tag or commit that the server can read (default: the head of its branch)")
    .description(
      "the rollouts that a revision would make now: waves, hosts that cannot be offered, times; changes nothing",
    )
    .option("--folder <folder>", "plan the files of this folder instead, as they are on disk")
    .option("--path <folder>", "gitops.path: only what lies at and below it is read (with --folder)")
    .option("--all", "also fleets in which nothing would change")
    .action(async (revision: string | undefined, options: PlanOptions) => {
      const body = await bodyOf(revision, options);
      const answer = await (await context.client()).send("POST", "/gitops/preview", planPreview, { body });
      if (!answer.valid) context.exitCode(1);
      context.show(answer, () => describePlan(answer, options.all === true));
    });
}

type PlanOptions = { folder?: string; path?: string; all?: boolean };

async function bodyOf(revision: string | undefined, { folder, path }: PlanOptions): Promise<object> {
  if (folder === undefined) {
    if (path !== undefined) throw new UsageError("--path belongs to --folder; the server has its own gitops.path");
    return revision === undefined ? {} : { revision };
  }
  if (revision !== undefined) throw new UsageError("give a revision or --folder, not both");
  const read = await readRevision(folder, path === undefined ? {} : { path }, new AbortController().signal);
  const files = read.files.flatMap(({ path: name, bytes }) =>
    bytes === undefined ? [] : [{ path: name, content: new TextDecoder().decode(bytes) }],
  );
  return { files };
}

/** For people. Fleets in which nothing happens are counted, or shown with `all`. */
export function describePlan(it: PlanPreview, all: boolean): string {
  const name = it.commit === null ? it.revision : `${it.revision} (${it.commit.slice(0, 7)})`;
  if (!it.valid) {
    const errors = it.issues.filter(({ severity }) => severity === "error");
    const lines = errors.map((one) => `  ${one.file}:${one.line}:${one.column}: ${one.message} (${one.code})`);
    return [`${name} is not valid and would not be applied:`, ...lines].join("\n");
  }
  const shown = it.fleets.filter((fleet) => all || !isQuiet(fleet));
  const quiet = it.fleets.length - shown.length;
  const rollouts = it.fleets.filter(({ targets }) => targets > 0);
  const hosts = rollouts.reduce((sum, { targets }) => sum + targets, 0);
  return [
    `plan of ${name}: ${plural(rollouts.length, "rollout")}, ${plural(hosts, "host")} of ${it.agents}`,
    ...shown.map(describeFleet),
    ...it.cancelled.map(({ fleet, n }) => `fleet ${fleet} is not in it: rollout ${n} would be cancelled`),
    ...(quiet > 0 ? [`${plural(quiet, "fleet")} without a change`] : []),
    ...(it.unassigned > 0 ? [`${plural(it.unassigned, "agent")} without a fleet, kept as they are`] : []),
    "nothing was changed; times are estimates: approvals come at once, nobody is offline, nothing fails",
  ].join("\n\n");
}

const isQuiet = (it: Fleet): boolean =>
  it.targets === 0 && it.outcome === "nothing" && it.leftOut + it.joiners + it.catchUp === 0;

const OUTCOME: Record<Fleet["outcome"], string> = {
  rollout: "a rollout starts",
  supersedes: "the active rollout ends, then one starts",
  waits: "one starts after the active rollout",
  held: "held",
  nothing: "no rollout",
};

function describeFleet(it: Fleet): string {
  const moves = [
    ...(it.up > 0 ? [`${it.up} up`] : []),
    ...(it.down > 0 ? [`${it.down} down`] : []),
    ...(it.configs > 0 ? [`${it.configs} configuration`] : []),
  ];
  const head = [
    `fleet ${it.fleet} → ${it.version ?? "configuration"}: ${OUTCOME[it.outcome]} (${it.because})`,
    ...(it.targets === 0
      ? []
      : [`  ${plural(it.targets, "host")} (${moves.join(", ")}), ${it.maxConcurrent} at once, policy ${it.policy}`]),
    ...(it.targets === 0 ? [] : [`  start ${whenOf(it.startsAt)}, end about ${whenOf(it.endsAt)}`]),
    ...(it.withoutWayBack === 0
      ? []
      : [`  no signed way back: ${hostList(it.withoutWayBack, it.withoutWayBackHosts)}`]),
    ...(it.joiners === 0 ? [] : [`  ${plural(it.joiners, "host")} join the last wave of the active rollout`]),
    ...(it.catchUp === 0 ? [] : [`  ${plural(it.catchUp, "host")} catch up without a rollout`]),
    ...reasons("cannot be offered", it.refused, it.refusedHosts),
    ...reasons("left as they are", it.leftOut, it.leftOutHosts),
  ];
  if (it.targets === 0) return head.join("\n");
  return [...head, indent(waveTable(it))].join("\n");
}

const whenOf = (time: string | null): string => (time === null ? "never: no window opens" : shortTime(time));

const hostList = (total: number, hosts: readonly { hostName: string }[]): string => {
  const names = hosts.slice(0, HOSTS_SHOWN).map(({ hostName }) => hostName);
  return `${total} (${names.join(", ")}${total > names.length ? ", …" : ""})`;
};

/** One line for each code, with the hosts and the sentence of the first one. */
function reasons(what: string, total: number, hosts: readonly Named[]): string[] {
  const byCode = Map.groupBy(hosts, ({ code }) => code);
  const lines = Array.from(byCode, ([code, of]) => {
    const why = of.length === 1 ? `: ${of[0]?.message ?? ""}` : "";
    return `    ${code}: ${hostList(of.length, of)}${why}`;
  });
  return total === 0 ? [] : [`  ${total} ${what}`, ...lines];
}

const waveTable = (it: Fleet): string =>
  table(
    it.waves,
    [
      ["WAVE", ({ k, name }) => `${k + 1} ${name}`],
      ["HOSTS", ({ size }) => size],
      ["OFFLINE", ({ offline }) => offline],
      ["APPROVAL", ({ approval }) => approval],
      ["BAKE", ({ bakeMs }) => (bakeMs === 0 ? "-" : `${Math.round(bakeMs / 1000)} s`)],
      ["START", ({ size, startsAt }) => (size === 0 ? "skipped" : whenOf(startsAt))],
      ["END", ({ size, endsAt }) => (size === 0 ? "-" : whenOf(endsAt))],
    ],
    "",
  );

const indent = (text: string): string =>
  text
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
