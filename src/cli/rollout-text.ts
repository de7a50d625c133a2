/** A rollout for people: what it does and why, what comes next, what did not arrive and what to do about it. */
import type { z } from "zod";
import type { rolloutDetail, targetPage } from "../domain/rest/rollout.ts";
import { PHASES } from "../domain/rollout/phases.ts";
import { plain, plural, shortTime, table } from "./print.ts";

type Detail = z.output<typeof rolloutDetail>;
type Group = Detail["groups"][number];
type Targets = z.output<typeof targetPage>["items"];

/** State, why and what comes next first; then waves, causes and controls; targets when they were asked for. */
export function rolloutText(it: Detail, targets: Targets | undefined): string {
  const counts = PHASES.filter((phase) => it.counts[phase] > 0).map((phase) => `${phase} ${it.counts[phase]}`);
  const next =
    it.next === null ? "nothing" : `${it.next.what}${it.next.at === null ? "" : `, at ${shortTime(it.next.at)}`}`;
  const head = [
    `${it.fleet}/${it.n}  ${it.version ?? "configuration"}  commit ${it.commit.slice(0, 7)}  policy ${it.policy}`,
    `state    ${it.state}: ${it.reason}`,
    `next     ${next}`,
    `targets  ${it.total}: ${counts.join(", ") || "none"}`,
    ...Object.entries(it.holds).map(
      ([hold, by]) => `held     ${hold} by ${by.by} since ${shortTime(by.at)}: ${by.reason || "no reason given"}`,
    ),
    ...it.waves.flatMap(({ name, approvals }) =>
      approvals.map(
        ({ principal, at, reason }) =>
          `approved wave ${name} by ${principal} at ${shortTime(at)}: ${reason || "no reason given"}`,
      ),
    ),
    ...it.noWayBack.map(
      ({ code, count, hosts }) => `no way back for ${plural(count, "target")} (${code}): ${named(hosts, count)}`,
    ),
    ...(it.temporalUrl === null ? [] : [`workflow ${it.temporalUrl}`]),
  ];
  const parts = [head.map(plain).join("\n"), waveTable(it), causeTable(it), controlTable(it)];
  if (targets !== undefined) parts.push(targetTable(targets));
  return parts.filter((part) => part !== "").join("\n\n");
}

const waveTable = (it: Detail): string =>
  table(
    it.waves,
    [
      ["WAVE", (wave) => `${wave.k + 1} ${wave.name}`],
      ["STATE", (wave) => wave.state],
      [
        "APPROVAL",
        (wave) =>
          wave.approvals.length > 0 ? wave.approvals.map(({ principal }) => principal).join(", ") : wave.approval,
      ],
      ["SIZE", (wave) => wave.size],
      ["OK", (wave) => wave.counts.succeeded],
      ["FAILED", (wave) => wave.counts.failed + wave.counts.rolled_back],
    ],
    "no waves",
  );

const WORDS: Record<Group["kind"], string> = {
  failed: "failed",
  way_back_refused: "way back refused",
  cannot_be_offered: "cannot be offered",
  takes_no_part: "takes no part",
};

const causeTable = (it: Detail): string =>
  table(
    it.groups,
    [
      ["DID NOT ARRIVE", ({ kind }) => WORDS[kind]],
      ["CAUSE", ({ cause }) => cause],
      ["TARGETS", ({ count }) => count],
      ["HOSTS", ({ hosts, count }) => named(hosts, count)],
      ["SAYS", ({ says }) => says],
      ["WHAT TO DO", ({ todo }) => todo],
    ],
    "",
  );

const MAX_NAMED = 5;
const named = (hosts: readonly string[], count: number): string => {
  const shown = hosts.slice(0, MAX_NAMED);
  return `${shown.join(", ")}${count > shown.length ? ` and ${count - shown.length} more` : ""}`;
};

const controlTable = (it: Detail): string =>
  table(
    it.controls,
    [
      ["CONTROL", (control) => control.name],
      ["POSSIBLE", (control) => (control.allowed ? `yes${control.needsReason ? ", with a reason" : ""}` : "no")],
      ["EFFECT, OR WHY NOT", (control) => control.reason ?? control.effect],
    ],
    "",
  );

export const targetTable = (targets: Targets): string =>
  table(
    targets,
    [
      ["HOST", (it) => it.hostName],
      ["WAVE", (it) => (it.wave === null ? null : it.wave + 1)],
      ["PHASE", (it) => it.phase],
      ["SINCE", (it) => shortTime(it.since)],
      ["FROM", (it) => it.fromVersion],
      ["TO", (it) => it.toVersion],
      ["RUNS", (it) => it.runs],
      ["WHY", (it) => it.why],
      ["NEXT", (it) => it.next && `${it.next.what}${it.next.at === null ? "" : `, at ${shortTime(it.next.at)}`}`],
    ],
    "no targets",
  );
