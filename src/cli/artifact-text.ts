/** How myrctl says what there is of artifacts: one sentence first, then the table, the worst on top. */
import type { z } from "zod";
import type { ReplicationWord } from "../domain/artifact/replication-word.ts";
import type { artifact } from "../domain/rest/artifact.ts";
import type { copyMatrix, replicationHistory } from "../domain/rest/depot.ts";
import type { retentionList } from "../domain/rest/retention.ts";
import { plural, shortTime, sizeText, table, type Column } from "./print.ts";

type Artifact = z.output<typeof artifact>;
type History = z.output<typeof replicationHistory>["items"];
type Matrix = z.output<typeof copyMatrix>;
type Retention = z.output<typeof retentionList>;

/** What needs somebody first. */
const WORST_FIRST: readonly ReplicationWord[] = [
  "lost",
  "unreachable",
  "degraded",
  "partial",
  "healing",
  "none",
  "replicated",
];

export function artifactsText(items: readonly Artifact[]): string {
  const none = "no artifacts yet: they are fetched when a rollout needs them, or uploaded";
  if (items.length === 0) return none;
  const byWord = WORST_FIRST.flatMap((word) => {
    const count = items.filter((it) => it.replication === word).length;
    return count === 0 ? [] : [`${count} ${word === "none" ? "on no depot" : word}`];
  });
  const rows = items.toSorted((a, b) => WORST_FIRST.indexOf(a.replication) - WORST_FIRST.indexOf(b.replication));
  return `${plural(items.length, "artifact")}: ${byWord.join(", ")}\n\n${table(rows, ARTIFACT_COLUMNS, none)}`;
}

const ARTIFACT_COLUMNS: Column<Artifact>[] = [
  ["RELEASE", (it) => `${it.distribution} ${it.version}`],
  ["PLATFORM", (it) => it.platform],
  ["STATE", (it) => (it.error === null ? it.state : `${it.state}: ${it.error.code}`)],
  ["REPLICATION", (it) => it.replication],
  ["NODES", (it) => nodesText(it)],
  ["SIZE", (it) => (it.sizeBytes === null ? null : sizeText(it.sizeBytes))],
  ["SHA-256", (it) => it.sha256?.slice(0, 12)],
  ["SIGNED BY", (it) => it.verification?.identity.split("@").at(-1)],
];

function nodesText({ counts, staged }: Artifact): string {
  const parts = [`${counts.have} of ${counts.have + counts.lacking}`];
  if (counts.silent > 0) parts.push(`${counts.silent} silent`);
  if (counts.pending > 0) parts.push(`${counts.pending} coming`);
  if (staged.length > 0) parts.push("staged");
  return parts.join(", ");
}

const WORD_TEXT: Readonly<Record<ReplicationWord, (it: Artifact) => string>> = {
  none: (it) => (it.staged.length > 0 ? "staged, and on no depot yet" : "not kept on depots"),
  lost: () => "LOST: nobody has it; it is fetched again, or upload it again",
  unreachable: (it) => `only nodes that do not answer have it (${it.counts.silent})`,
  degraded: ({ counts: { have } }) =>
    `degraded: only ${have === 1 ? "1 node that answers has" : `${have} nodes that answer have`} it`,
  partial: ({ counts: { lacking } }) =>
    `${lacking === 1 ? "1 node that answers lacks" : `${lacking} nodes that answer lack`} it on a disk`,
  healing: (it) => `not everywhere, and ${plural(it.counts.pending, "transfer")} of it to come`,
  replicated: () => "every node that answers has it on every disk",
};

export function artifactText(it: Artifact, history: History): string {
  const since = it.since === null ? "" : ` (since ${shortTime(it.since)})`;
  const head = [
    `${it.distribution} ${it.version} ${it.platform}: ${WORD_TEXT[it.replication](it)}${since}`,
    `  file      ${it.fileName}${it.sizeBytes === null ? "" : `, ${sizeText(it.sizeBytes)}`}`,
    `  sha-256   ${it.sha256 ?? "not known yet"}`,
    `  source    ${it.sourceUrl}`,
    `  state     ${it.error === null ? it.state : `${it.state}: ${it.error.message} (${it.error.code})`}`,
    ...(it.verification === null
      ? ["  signed    not verified"]
      : [
          `  signed by ${it.verification.identity}`,
          `  issuer    ${it.verification.issuer}, log index ${it.verification.logIndex}, ${it.verification.signedAt.map(shortTime).join(", ")}`,
        ]),
    ...(it.revoked === null ? [] : [`  REVOKED   ${it.revoked}`]),
    ...(it.staged.length === 0 ? [] : [`  staged at ${it.staged.join(", ")}`]),
  ].join("\n");
  const copies = table(it.copies, COPY_COLUMNS, "no copies on depots");
  return `${head}\n\n${copies}\n\n${historyText(history)}`;
}

const COPY_COLUMNS: Column<Artifact["copies"][number]>[] = [
  ["NODE", ({ node }) => node],
  ["DISKS", ({ disks, of }) => `${Math.min(disks, of)} of ${of}`],
  ["ANSWERS", ({ answering }) => (answering ? "yes" : "no")],
];

export const historyText = (history: History): string =>
  table(
    history,
    [
      ["WHEN", ({ at }) => shortTime(at)],
      ["WHAT", ({ kind }) => kind],
      ["NODE", ({ node }) => node],
      ["ARTIFACT", ({ artifacts, sha256 }) => artifacts.join(", ") || sha256?.slice(0, 12)],
      ["DETAIL", ({ detail }) => detailText(detail)],
    ],
    "nothing has happened to it that was noted",
  );

/** What of the detail says more than the columns do. */
function detailText({ copies, minCopies, error, disk, reason, by }: Record<string, unknown>): string {
  const parts = [
    typeof copies === "number" && typeof minCopies === "number"
      ? `on ${plural(copies, "node")} of ${minCopies} at least`
      : "",
    typeof disk === "string" ? disk : "",
    typeof error === "string" ? error : "",
    typeof by === "string" ? `by ${by}` : "",
    typeof reason === "string" ? reason : "",
  ];
  return parts.filter((part) => part !== "").join("; ") || "-";
}

/** Rows that are not whole everywhere; all of them with `all`. */
export function matrixText({ nodes, total, rows }: Matrix, all: boolean): string {
  if (total === 0) return "no artifacts are wanted: nothing is to be replicated";
  if (nodes.length === 0) return `${plural(total, "artifact")} wanted, and no depots are registered`;
  const incomplete = rows.filter(({ cells }) => /[^#]/.test(cells));
  const says =
    incomplete.length === 0
      ? `every node has every artifact on every disk (${plural(rows.length, "artifact")}, ${plural(nodes.length, "node")})`
      : `${incomplete.length} of ${plural(rows.length, "artifact")} are not everywhere`;
  const cut = rows.length < total ? `; the newest ${rows.length} of ${total} are shown` : "";
  const shown = all ? rows : incomplete;
  if (shown.length === 0) return `${says}${cut}`;
  const legend = `# every disk that is well   + some   - none   ? the node does not answer\nnodes: ${nodes.map((node, i) => `${i + 1} ${node}`).join(", ")}`;
  const columns: Column<Matrix["rows"][number]>[] = [
    ["ARTIFACT", ({ artifacts }) => artifacts.join(", ")],
    ["SHA-256", ({ sha256 }) => sha256.slice(0, 12)],
    [nodes.map((_, i) => String((i + 1) % 10)).join(""), ({ cells }) => cells],
  ];
  return `${says}${cut}\n\n${table(shown, columns, "")}\n\n${legend}`;
}

const ORDER = { delete: 0, wait: 1, keep: 2 } as const;

export function retentionText({ items, keepForMs, at }: Retention): string {
  if (items.length === 0) return "depots keep no releases";
  const count = (decision: keyof typeof ORDER): number => items.filter((it) => it.decision === decision).length;
  const days = Math.round((keepForMs / 86_400_000) * 10) / 10;
  const rows = items.toSorted((a, b) => ORDER[a.decision] - ORDER[b.decision]);
  return [
    `${count("keep")} needed, ${count("wait")} kept for a while, ${count("delete")} to be removed by the next run; kept ${days} days after the last need`,
    table(
      rows,
      [
        ["RELEASE", (it) => `${it.distribution} ${it.version}`],
        ["ARCHIVES", (it) => it.archives],
        ["SIZE", (it) => sizeText(it.bytes)],
        ["DECISION", (it) => it.decision],
        ["WHY", (it) => it.says.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, shortTime)],
      ],
      "",
    ),
    `as of ${shortTime(at)}; nothing was changed by asking`,
  ].join("\n\n");
}
