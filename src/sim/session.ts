/** One run of the program: files and flags in, a ready line, a table while it lasts, an account at the end. */
import { randomInt } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { formatIssue } from "../domain/config/strict-yaml.ts";
import { failure } from "../domain/errors.ts";
import type { AgentLog } from "../protocol/agent-client.ts";
import { scenarioOfFlags, type Flags } from "./command.ts";
import { openFilesLimit } from "./open-files.ts";
import { countsOf } from "./plan.ts";
import { startSimulation, type SimOptions, type Simulation } from "./run.ts";
import { parseScenario, type Scenario } from "./scenario.ts";
import { LONGEST_MS } from "./spread.ts";
import { lineOf, redraw, tableOf } from "./table.ts";

export type Terminal = {
  out: (text: string) => void;
  /** Where the table goes. */
  err: (text: string) => void;
  isTty: boolean;
};

/** Ends with the scenario, after `--seconds`, or when `ending` is aborted; then everybody has said goodbye. */
export async function runSession(
  flags: Flags,
  given: ReadonlySet<string>,
  log: AgentLog,
  terminal: Terminal,
  ending: AbortController,
): Promise<void> {
  const scenario = await scenarioFor(flags, given);
  const simulation = await startSimulation(await optionsFor(flags, scenario, log));
  const timeUp = flags.seconds === undefined ? undefined : setTimeout(() => ending.abort(), flags.seconds * 1_000);
  const everyS = flags.tableSeconds ?? (terminal.isTty ? 1 : flags.scenario === undefined ? 0 : 10);
  const showing = show(simulation, everyS, terminal, ending.signal);
  try {
    await simulation.allConnected(ending.signal);
    terminal.out(JSON.stringify({ ready: true, ...simulation.counts() }));
    const events = simulation.runEvents();
    events.catch(() => undefined); // the simulation ended first
    await wait(scenario.endMs ?? LONGEST_MS, undefined, { signal: ending.signal });
  } catch (error) {
    if (!ending.signal.aborted) throw error;
  } finally {
    ending.abort();
    clearTimeout(timeUp);
    await showing;
    if (flags.report !== undefined) await writeReport(flags.report, scenario, simulation);
    await simulation.stop();
  }
}

const ANY_SEED = 2 ** 31;

async function scenarioFor(flags: Flags, given: ReadonlySet<string>): Promise<Scenario> {
  if (flags.scenario === undefined)
    return scenarioOfFlags({
      ...flags,
      seed: flags.seed ?? randomInt(ANY_SEED),
      downloadsAtOnce: flags.downloads,
      faults: flags.fault,
      attributes: flags.attribute,
      ...(flags.backoffMs !== undefined && { failedRetryBackoffMs: flags.backoffMs }),
    });
  const hosts = given.has("hosts") ? flags.hosts : undefined;
  const read = parseScenario(await readFile(flags.scenario, "utf8"), flags.scenario, hosts);
  if (!read.ok) throw failure("config_invalid", { issues: read.issues.map(formatIssue).join("\n") });
  return {
    ...read.scenario,
    ...(flags.seed !== undefined && { seed: flags.seed }),
    ...(given.has("connectPerSecond") && { connectPerSecond: flags.connectPerSecond }),
  };
}

async function optionsFor(flags: Flags, scenario: Scenario, log: AgentLog): Promise<SimOptions> {
  const folder = dirname(flags.scenario ?? "");
  const groupTokens = new Map<string, string>();
  for (const { name, tokenFile } of scenario.groups)
    if (tokenFile !== undefined) groupTokens.set(name, await tokenIn(resolve(folder, tokenFile)));
  return {
    server: flags.server,
    token: await tokenIn(flags.tokenFile),
    groupTokens,
    scenario,
    maxOpenFiles: openFilesLimit(),
    log,
    ...(flags.state !== undefined && { stateFile: flags.state }),
    ...(flags.caFile !== undefined && { ca: await readFile(flags.caFile) }),
    ...(flags.localAddress !== undefined && { localAddresses: flags.localAddress }),
    ...(flags.allowUrl !== undefined && { allowedUrlPrefixes: flags.allowUrl }),
  };
}

const tokenIn = async (file: string): Promise<string> => (await readFile(file, "utf8")).trim();

/** A table in one place on a terminal, a line each time elsewhere; resolves at the end. */
async function show(simulation: Simulation, everyS: number, terminal: Terminal, signal: AbortSignal): Promise<void> {
  let lines = 0;
  let before = { at: performance.now(), ...simulation.traffic() };
  while (everyS > 0 && !signal.aborted) {
    await wait(everyS * 1_000, undefined, { signal }).catch(() => undefined);
    const now = { at: performance.now(), ...simulation.traffic() };
    const perSecond = (key: "sent" | "received") =>
      ((now[key] - before[key]) * 1_000) / Math.max(1, now.at - before.at);
    const snapshot = {
      hosts: simulation.account(),
      steps: simulation.steps(),
      perSecond: { sent: perSecond("sent"), received: perSecond("received") },
    };
    before = now;
    if (!terminal.isTty) {
      terminal.err(`${lineOf(snapshot)}\n`);
      continue;
    }
    const table = tableOf(snapshot);
    terminal.err(redraw(table, lines));
    lines = table.length;
  }
}

async function writeReport(file: string, { seed }: Scenario, simulation: Simulation): Promise<void> {
  const hosts = simulation.account();
  const report = { seed, connected: simulation.counts().connected, traffic: simulation.traffic(), hosts };
  await writeFile(file, `${JSON.stringify(report, undefined, 1)}\n`);
}

/** Says which hosts a scenario has, or what is wrong with it. Exit code: 0 valid, 1 not valid, 2 unreadable. */
export async function checkScenario(file: string, { out, err }: Pick<Terminal, "out" | "err">): Promise<number> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    err(`${file}: ${(error as Error).message}\n`);
    return 2;
  }
  const read = parseScenario(text, file);
  if (!read.ok) {
    err(read.issues.map((issue) => `${formatIssue(issue)}\n`).join(""));
    return 1;
  }
  const { groups, events } = read.scenario;
  const counts = countsOf(read.scenario);
  for (const [i, { name, transport }] of groups.entries()) out(`${name}: ${counts[i]} hosts over ${transport}`);
  out(`${counts.reduce((a, b) => a + b, 0)} hosts, ${events.length} events, seed ${read.scenario.seed}`);
  return 0;
}
