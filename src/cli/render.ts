/**
 * `myrctl render`: the configuration that a fleet gives to its sample agents, as bytes that the server would send, or how
 * it differs from another revision's. Exit code 0: rendered, 1: the revision is invalid or does not render, 2: could not run.
 */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { closest } from "../domain/config/closest.ts";
import { readFile as readGitopsFile } from "../domain/gitops/file-reading.ts";
import type { Fleet } from "../domain/gitops/kinds.ts";
import type { Sample } from "../domain/gitops/read-sample.ts";
import { fleets } from "../domain/gitops/snapshot.ts";
import type { Verdict } from "../domain/gitops/validate.ts";
import type { Context } from "./command.ts";
import { renderFleet, type Configuration, type Rendering } from "./configurations.ts";
import { UsageError } from "./connection.ts";
import { judging, judgeValid, type Running } from "./judging.ts";
import { paintPatch, patchOf } from "./patch.ts";
import {
  addRemoteOptions,
  CannotRun,
  openSource,
  readRevision,
  type ReadRevision,
  type RemoteOptions,
} from "./revision.ts";
import { visible } from "./terminal.ts";

type Options = RemoteOptions & {
  fleet: string;
  ref?: string;
  agent?: string;
  diff?: string;
  collectorVersion?: string;
};

const HELP = `
Each sample agent of samples/agents that the fleet's selector matches is rendered; --agent FILE renders for the agents of
FILE instead, written like a sample:
  name: web-1
  attributes: {host.name: web-1, os.type: linux, service.name: otelcol-contrib}

One configuration is printed as it is, byte for byte. Of several, each begins with a comment (host, version, SHA-256) and
they are separated as YAML documents. --json prints them as data.

Exit codes: 0 rendered, 1 the revision is invalid or no agent matches, 2 could not run.

Examples:
  myrctl render --fleet edge
  myrctl render --fleet edge --agent web-1.yaml --collector-version 0.163.0
  myrctl render --fleet edge --diff main
  myrctl render --fleet edge --git https://git.example.com/fleet.git --ref release`;

/** Adds the command to `program`. */
export function addRender(program: Command, context: Context): void {
  const command = program
    .command("render")
    .description("print the collector configuration that a fleet gives to its sample agents; needs no server")
    .argument("[folder]", "the folder to read (default: the working directory)")
    .requiredOption("--fleet <name>", "the fleet")
    .option("--agent <file>", "render for the agents of this file instead of samples/agents")
    .option("--diff <revision>", "print how that differs from this revision of the same repository")
    .option("--collector-version <version>", "the version that templates see (default: the fleet's)");
  addRemoteOptions(command, "ref")
    .addHelpText("after", HELP)
    .action((folder: string | undefined, options: Options) =>
      judging(context, (running) => runRender(folder, options, context, running)),
    );
}

async function runRender(
  folder: string | undefined,
  options: Options,
  context: Context,
  running: Running,
): Promise<number> {
  if (options.diff !== undefined) return runDiff(folder, { ...options, diff: options.diff }, context, running);
  const revision = await readRevision(folder, options, running.signal);
  const verdict = await judgeValid(revision, context, running);
  if (verdict === undefined) return 1;
  const fleet = fleetOf(verdict, options.fleet, revision);
  const samples = options.agent === undefined ? verdict.samples : await readAgents(options.agent);
  const rendering = renderFleet(verdict.objects, fleet, samples, versionOf(options));
  explainEmpty(rendering, options, context);
  const { configurations } = rendering;
  if (configurations.length > 0) context.show(configurations, () => print(configurations));
  return codeOf(rendering);
}

/** The work tree (or `--ref`) against `--diff REV`: the same agents on both sides, so that only the revisions differ. */
async function runDiff(
  folder: string | undefined,
  options: Options & { diff: string },
  context: Context,
  running: Running,
): Promise<number> {
  const source = await openSource(folder, options, running.signal);
  try {
    if (options.ref !== undefined && options.git === undefined) {
      throw new UsageError("--ref belongs to --git URL; a folder is read as it is on disk");
    }
    const newer = await (source.onDisk?.() ?? source.at(options.ref ?? "HEAD"));
    const older = await source.at(options.diff);
    const [is, was] = [await judgeValid(newer, context, running), await judgeValid(older, context, running)];
    if (is === undefined || was === undefined) return 1;
    const fleet = fleetOf(is, options.fleet, newer);
    const samples = options.agent === undefined ? is.samples : await readAgents(options.agent);
    const rendering = renderFleet(is.objects, fleet, samples, versionOf(options));
    const before = fleets(was).find(({ name }) => name === fleet.name);
    const old =
      before === undefined ? [] : renderFleet(was.objects, before, samples, versionOf(options)).configurations;
    explainEmpty(rendering, options, context);
    const patches = rendering.configurations.flatMap((configuration) => {
      const earlier = old.find(({ sample }) => sample === configuration.sample);
      const name = (label: string): string => `${label} ${fleet.name}/${visible(configuration.sample)}`;
      const patch = patchOf(
        { name: name(older.label), text: earlier?.text },
        { name: name(newer.label), text: configuration.text },
      );
      return patch === undefined ? [] : [patch];
    });
    const none = `no difference: fleet ${fleet.name}, ${rendering.configurations.length} configurations`;
    context.io.out(patches.length === 0 ? none : patches.map((patch) => paintPatch(patch, context.paint)).join("\n"));
    return codeOf(rendering);
  } finally {
    await source.remove();
  }
}

const codeOf = ({ configurations, unrendered }: Rendering): number =>
  unrendered.length > 0 || configurations.length === 0 ? 1 : 0;

function explainEmpty({ configurations, unrendered }: Rendering, options: Options, context: Context): void {
  const { agent, fleet } = options;
  for (const { sample, message } of unrendered) context.io.err(`myrctl: ${visible(sample)}: ${visible(message)}`);
  for (const { sample, belongsTo } of configurations) {
    if (belongsTo === undefined) continue;
    context.io.err(`note: ${visible(sample)} belongs to fleet ${belongsTo}, which has the higher priority`);
  }
  if (configurations.length > 0 || unrendered.length > 0) return;
  const advice =
    agent === undefined ? "Add one to samples/agents, or give --agent FILE." : "Compare it with spec.selector.";
  context.io.err(`myrctl: fleet ${fleet} matches no agent of ${agent ?? "samples/agents"}. ${advice}`);
}

/** Without a line break at the end: printing adds it. */
function print(configurations: readonly Configuration[]): string {
  const [first] = configurations;
  if (configurations.length === 1 && first !== undefined) return first.text.replace(/\n$/, "");
  const parts = configurations.map(({ fleet, host, version, sha256, text }) => {
    const of = version === "" ? "" : `, version ${visible(version)}`;
    return `# fleet ${fleet}, host ${visible(host)}${of}, sha256 ${sha256}\n${text}`;
  });
  return parts.join("---\n").replace(/\n$/, "");
}

function fleetOf(verdict: Verdict, name: string, { label }: ReadRevision): Fleet {
  const known = fleets(verdict);
  const found = known.find((fleet) => fleet.name === name);
  if (found !== undefined) return found;
  const names = known.map((fleet) => fleet.name);
  const near = closest(name, names);
  const hint = near === undefined ? `It has: ${names.join(", ") || "no fleet"}.` : `Did you mean ${near}?`;
  throw new CannotRun(`${label} has no fleet ${visible(name)}. ${hint}`);
}

/** Agents in the form of samples. Throws CannotRun. */
async function readAgents(file: string): Promise<Sample[]> {
  const { issues, samples } = readGitopsFile({ file, holds: "samples", bytes: await readFile(file) });
  const [first] = issues;
  if (first !== undefined) {
    const hint = first.hint === undefined ? "" : ` (${first.hint})`;
    throw new CannotRun(`${file}:${first.line}:${first.column}: ${visible(first.message)}${hint}`);
  }
  if (samples.length === 0) throw new CannotRun(`${file} holds no agent. Write it like a file of samples/agents.`);
  return samples;
}

function versionOf({ collectorVersion: version }: Options): string | undefined {
  if (version === undefined) return undefined;
  const plain = version.replace(/^v/, "");
  if (!/^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(plain)) {
    throw new UsageError("--collector-version must be a version such as 0.162.0");
  }
  return plain;
}
