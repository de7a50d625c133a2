/** What one revision changes against another: objects, versions, and what the sample agents' collectors would run. Pure. */
import { desiredVersion } from "../domain/fleet/desired-version.ts";
import { compareObjects, type Change } from "../domain/gitops/change.ts";
import type { Fleet } from "../domain/gitops/kinds.ts";
import { compareText } from "../domain/gitops/plain.ts";
import { fleets } from "../domain/gitops/snapshot.ts";
import type { Verdict } from "../domain/gitops/validate.ts";
import { renderFleet } from "./configurations.ts";
import { patchOf } from "./patch.ts";

export type FleetChange = {
  fleet: string;
  what: "added" | "changed" | "removed";
  /** The version that Git wants, when it differs. */
  version?: { before: string | null; after: string | null };
  /** Each difference once, with the samples that have it. */
  configurations: { samples: string[]; patch: string }[];
};
export type Comparison = { objects: Change; fleets: FleetChange[] };

/** `names` stand in the headers of the diffs. */
export function compareRevisions(
  before: Verdict,
  after: Verdict,
  names: { before: string; after: string },
): Comparison {
  const [was, is] = [fleets(before), fleets(after)];
  const all = [...new Set([...was, ...is].map(({ name }) => name))].toSorted(compareText);
  const find = (list: readonly Fleet[], name: string): Fleet | undefined => list.find((fleet) => fleet.name === name);
  const changes = all.map((name) => compareFleet([before, find(was, name)], [after, find(is, name)], names));
  return {
    objects: compareObjects(before.objects, after.objects),
    fleets: changes.filter(({ what, version, configurations }) => {
      return what !== "changed" || version !== undefined || configurations.length > 0;
    }),
  };
}

type Side = [verdict: Verdict, fleet: Fleet | undefined];

/** The samples are those of the newer revision on both sides: only what fleets and blueprints say may differ. */
function compareFleet([before, was]: Side, [after, is]: Side, names: { before: string; after: string }): FleetChange {
  const fleet = (is ?? was)?.name ?? "";
  const [from, to] = [was, is].map((it) => (it === undefined ? null : (desiredVersion(it)?.version ?? null)));
  const version = from === to ? {} : { version: { before: from ?? null, after: to ?? null } };
  // what the agents of a removed fleet run is not taken away
  if (is === undefined) return { fleet, what: "removed", ...version, configurations: [] };
  const old = was === undefined ? [] : renderFleet(before.objects, was, after.samples).configurations;
  const groups = new Map<string, { samples: string[]; patch: string }>();
  for (const { sample, text } of renderFleet(after.objects, is, after.samples).configurations) {
    const earlier = old.find((it) => it.sample === sample)?.text;
    const header = (name: string): string => `${name} ${fleet}/${sample}`;
    const patch = patchOf({ name: header(names.before), text: earlier }, { name: header(names.after), text });
    if (patch === undefined) continue;
    const hunks = patch.split("\n").slice(2).join("\n");
    const known = groups.get(hunks);
    if (known === undefined) groups.set(hunks, { samples: [sample], patch });
    else known.samples.push(sample);
  }
  return { fleet, what: was === undefined ? "added" : "changed", ...version, configurations: [...groups.values()] };
}
