/** How myrctl says how the depots stand: one sentence first, then the table, then what runs. */
import type { z } from "zod";
import type { depot, depotExplanation, depotList } from "../domain/rest/depot.ts";
import { plural, shortTime, sizeText, table, type Column } from "./print.ts";

type Depot = z.output<typeof depot>;
type List = z.output<typeof depotList>;

export function depotsText(list: List): string {
  const { items, executions } = list;
  const parts = [sentence(list), table(items, DEPOT_COLUMNS, "no depots are registered")];
  const away = items.filter((it) => it.error !== null);
  if (away.length > 0)
    parts.push(away.map((it) => `${it.nodeId} since ${shortTime(it.unansweredSince)}: ${it.error}`).join("\n"));
  if (list.running !== null) parts.push(runningText(list.running));
  const last = executions.find(({ state }) => state !== "running");
  if (last !== undefined) parts.push(executionText(last));
  return parts.join("\n\n");
}

function sentence({ items, wanted, generation, minCopies }: List): string {
  const answering = items.filter((it) => it.answering);
  const away = items.filter((it) => !it.answering);
  const short = answering.filter((it) => it.state === "active" && it.whole < it.want);
  const at = `${plural(wanted, "artifact")} wanted at generation ${generation}, each on at least ${plural(minCopies, "node")}`;
  if (items.length === 0) return `${at}; there are no depots`;
  const says = [`${answering.length} of ${plural(items.length, "depot")} answer`];
  if (away.length > 0) says.push(`${away.map((it) => it.nodeId).join(", ")} ${away.length === 1 ? "does" : "do"} not`);
  const complete = short.length === 0 ? "everybody who answers has everything" : shortText(short);
  const few = answering.length < minCopies ? `; fewer than ${minCopies} answer, so everything is degraded` : "";
  return `${says.join("; ")}${few}\n${at}: ${answering.length === 0 ? "nobody answers" : complete}`;
}

const shortText = (short: readonly Depot[]): string =>
  short.map((it) => `${it.nodeId} lacks ${it.want - it.whole}`).join(", ");

const DEPOT_COLUMNS: Column<Depot>[] = [
  ["NODE", (it) => it.nodeId],
  ["ZONE", (it) => it.zone],
  ["STATE", (it) => it.state],
  // the code is enough in a table; the text is below it
  ["ANSWERS", (it) => (it.answering ? "yes" : `no: ${it.error?.split(":")[0] ?? "not asked yet"}`)],
  ["GENERATION", (it) => it.generation],
  // what it had when it answered says nothing about now
  ["HAS", (it) => (it.answering ? `${it.whole} of ${it.want}` : "?")],
  ["FREE", (it) => capacityText(it)],
  ["DISKS", (it) => disksText(it)],
  ["LAST ANSWER", (it) => shortTime(it.answeredAt)],
];

function capacityText({ capacity, answering }: Depot): string | null {
  if (!answering) return "?";
  if (capacity === null) return null;
  const { freeBytes, missingBytes, freeAfterBytes, releasesLeft } = capacity;
  if (freeAfterBytes < 0) return `${sizeText(freeBytes)}, ${sizeText(-freeAfterBytes)} TOO LITTLE`;
  const coming = missingBytes > 0 ? `, ${sizeText(missingBytes)} to come` : "";
  return `${sizeText(freeBytes)}${coming}${releasesLeft === null ? "" : `, ~${releasesLeft} releases`}`;
}

/** Only what is not well needs its path. */
function disksText({ disks, answering }: Depot): string | null {
  if (!answering) return "?";
  if (disks.length === 0) return null;
  const bad = disks.filter(({ state }) => state !== "ok");
  const well = `${disks.length - bad.length} of ${disks.length} ok`;
  return bad.length === 0 ? well : `${well}; ${bad.map(({ path, state }) => `${path}: ${state}`).join(", ")}`;
}

function runningText({
  transfers,
  bytes,
  etaSeconds,
  retries,
  lastError,
  nodes,
}: NonNullable<List["running"]>): string {
  const all = transfers.pending + transfers.done + transfers.failed;
  const eta = etaSeconds === null ? "" : `, about ${durationText(etaSeconds)} left`;
  const trouble = [
    ...(retries > 0 ? [plural(retries, "retry", "retries")] : []),
    ...(transfers.failed > 0 ? [`${transfers.failed} failed`] : []),
  ];
  const lines = [
    `replicating now: ${transfers.done} of ${plural(all, "transfer")} done, ${sizeText(bytes.moved)} of ${sizeText(bytes.all)}${eta}${trouble.length === 0 ? "" : ` (${trouble.join(", ")})`}`,
    ...nodes
      .filter(({ pending, failed }) => pending + failed > 0)
      .map(
        ({ node, pending, failed, leftBytes }) =>
          `  ${node}: ${pending} to come (${sizeText(leftBytes)})${failed === 0 ? "" : `, ${failed} failed`}`,
      ),
  ];
  if (lastError !== null) lines.push(`  an error: ${lastError.node}: ${lastError.message}`);
  return lines.join("\n");
}

function executionText({ state, cause, startedAt, finishedAt, result }: List["executions"][number]): string {
  const number = (key: string): number => (typeof result?.[key] === "number" ? result[key] : 0);
  const skipped = Array.isArray(result?.["skipped"]) ? result["skipped"].map(String) : [];
  const did = [
    `${number("puts")} put, ${number("copies")} copied, ${sizeText(number("bytes"))}`,
    ...(number("failed") > 0 ? [`${number("failed")} FAILED`] : []),
    ...(number("lost") > 0 ? [`${number("lost")} LOST`] : []),
    ...(number("released") > 0 ? [`${number("released")} staged copies released`] : []),
    ...(skipped.length > 0 ? [`skipped: ${skipped.join(", ")}`] : []),
  ];
  return `last replication: ${state} (${cause}), began ${shortTime(startedAt)}, ended ${shortTime(finishedAt)}\n  ${did.join("; ")}`;
}

const durationText = (seconds: number): string =>
  seconds < 90
    ? `${seconds} s`
    : seconds < 5_400
      ? `${Math.round(seconds / 60)} min`
      : `${Math.round(seconds / 3_600)} h`;

export function explanationText({ says, lacks, copies, removal }: z.output<typeof depotExplanation>): string {
  const rows = table(
    copies,
    [
      ["ARTIFACT", ({ artifacts, sha256 }) => artifacts.join(", ") || sha256.slice(0, 12)],
      ["WHY", ({ why }) => why],
      ["NEXT", ({ next }) => next],
    ],
    "",
  );
  const more = lacks > copies.length ? `and ${lacks - copies.length} more` : "";
  return [says, rows, more, removalText(removal)].filter((part) => part !== "").join("\n\n");
}

function removalText({ safe, lost, rare }: z.output<typeof depotExplanation>["removal"]): string {
  if (safe) return "It could leave now: everything that it has is safe elsewhere.";
  const parts = [
    ...(lost.length > 0 ? [`  lost, nobody else has it: ${lost.join(", ")}`] : []),
    ...(rare.length > 0 ? [`  on too few others: ${rare.join(", ")}`] : []),
  ];
  return ["Removing it now needs --force.", ...parts].join("\n");
}
