/**
 * `myrctl diff`: what a revision changes, for the review of a merge request: objects, versions, rendered configurations.
 * Exit code 0: compared (also when nothing differs), 1: one of both is invalid, 2: could not run.
 */
import type { Command } from "commander";
import type { Context } from "./command.ts";
import { compareRevisions, type Comparison, type FleetChange } from "./compare-revisions.ts";
import { UsageError } from "./connection.ts";
import { judging, judgeValid, type Running } from "./judging.ts";
import { paintPatch } from "./patch.ts";
import { addRemoteOptions, openSource, type ReadRevision, type RemoteOptions } from "./revision.ts";
import { visible, type Paint } from "./terminal.ts";

const HELP = `
Revisions are what git calls revisions: branches, tags, commits, HEAD~1. They are read from the objects of the repository
that the folder lies in (not from the work tree), or from --git URL. Without a right side (main..) the left one is compared
with the folder as it is on disk.

Objects are told apart by kind and name: one that moves to another file is no change. Configurations are rendered for the
sample agents of the newer revision.

Exit codes: 0 compared, 1 a revision is invalid, 2 could not run.

Examples:
  myrctl diff main..                   what the folder on disk changes against main
  myrctl diff origin/main..HEAD deploy
  myrctl diff v1..v2 --git https://git.example.com/fleet.git --path deploy`;

/** Adds the command to `program`. */
export function addDiff(program: Command, context: Context): void {
  const command = program
    .command("diff")
    .description("what one revision changes against another: objects, versions, rendered configurations")
    .argument("<revisions>", "REV..REV, or REV.. to compare with the folder on disk")
    .argument("[folder]", "a folder in a Git repository (default: the working directory)");
  addRemoteOptions(command, "revisions")
    .addHelpText("after", HELP)
    .action((revisions: string, folder: string | undefined, options: RemoteOptions) =>
      judging(context, (running) => runDiff(revisions, folder, options, context, running)),
    );
}

async function runDiff(
  revisions: string,
  folder: string | undefined,
  options: RemoteOptions,
  context: Context,
  running: Running,
): Promise<number> {
  const { left, right } = sidesOf(revisions);
  const source = await openSource(folder, options, running.signal);
  try {
    if (right === "" && source.onDisk === undefined) throw new UsageError("--git URL has no folder: give REV..REV");
    const before = await source.at(left);
    const after = right === "" && source.onDisk !== undefined ? await source.onDisk() : await source.at(right);
    const [was, is] = [await judgeValid(before, context, running), await judgeValid(after, context, running)];
    if (was === undefined || is === undefined) return 1;
    const comparison = compareRevisions(was, is, { before: nameOf(before), after: nameOf(after) });
    context.show(comparison, () => describe(comparison, before, after, context.paint));
    return 0;
  } finally {
    await source.remove();
  }
}

function sidesOf(revisions: string): { left: string; right: string } {
  const [left = "", right, ...more] = revisions.split("..");
  if (right === undefined || more.length > 0 || right.startsWith(".")) {
    throw new UsageError(
      `give two revisions as REV..REV, or REV.. to compare with the folder on disk, not ${revisions}`,
    );
  }
  if (left === "") throw new UsageError("the left revision is missing: REV..REV");
  return { left, right };
}

const nameOf = ({ label, git }: ReadRevision): string => git?.ref ?? `folder ${label}`;

const titleOf = ({ label, git }: ReadRevision): string => (git === undefined ? `the folder ${label}` : label);

function describe(comparison: Comparison, before: ReadRevision, after: ReadRevision, paint: Paint): string {
  const { added, changed, removed } = comparison.objects;
  const objects = [
    ...added.map((name) => paint("green", `  added    ${name}`)),
    ...changed.map((name) => paint("yellow", `  changed  ${name}`)),
    ...removed.map((name) => paint("red", `  removed  ${name}`)),
  ];
  return [
    paint("bold", `${titleOf(before)} → ${titleOf(after)}`),
    ...(objects.length === 0 ? ["  no object differs"] : objects),
    ...comparison.fleets.flatMap((fleet) => ["", ...describeFleet(fleet, paint)]),
    ...(comparison.fleets.length === 0 ? ["", "no configuration and no version differs"] : []),
  ].join("\n");
}

function describeFleet({ fleet, what, version, configurations }: FleetChange, paint: Paint): string[] {
  const of = version === undefined ? "" : `${version.before ?? "no version"} → ${version.after ?? "no version"}`;
  const how = {
    added: "added",
    removed: "removed; its agents keep what they run unless another fleet matches",
    changed: "",
  };
  const title = [how[what], of].filter((part) => part !== "").join(", ");
  return [
    paint("bold", `fleet ${fleet}${title === "" ? "" : `: ${title}`}`),
    ...configurations.flatMap(({ samples, patch }) => [
      `sample ${samples.slice(0, MAX_NAMED).map(visible).join(", ")}${samples.length > MAX_NAMED ? ` and ${samples.length - MAX_NAMED} more` : ""}:`,
      paintPatch(patch, paint),
    ]),
  ];
}
const MAX_NAMED = 10;
