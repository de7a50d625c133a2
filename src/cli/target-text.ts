/** One target for people: where it is and why first, then its attempts with their steps, then its offers. */
import type { z } from "zod";
import type { target, targetDetail } from "../domain/rest/rollout.ts";
import { lengthText } from "../domain/rollout/explain-time.ts";
import { plain, shortTime, table } from "./print.ts";

type Target = z.output<typeof target>;
type Detail = z.output<typeof targetDetail>;
type Step = Detail["attempts"][number]["steps"][number];

const SHORT = 12;
/** `0.161.0 → 0.162.0`, `configuration abc → def`, or both. */
function changeText({ fromVersion, toVersion, fromConfig, toConfig }: Target): string {
  const short = (hash: string | null): string => hash?.slice(0, SHORT) ?? "none of ours";
  const parts = [
    ...(toVersion === null ? [] : [`${fromVersion ?? "no version"} → ${toVersion}`]),
    ...(toConfig === null ? [] : [`configuration ${short(fromConfig)} → ${short(toConfig)}`]),
  ];
  return parts.join(", ") || "nothing";
}

type Sentences = Pick<Target, "next" | "waitsFor" | "todo">;
/** What happens next, and what somebody can do: the same lines wherever something waits. */
export const nextLines = ({ next, waitsFor, todo }: Sentences): string[] => [
  `next     ${next === null ? "nothing by itself" : `${next.what}${next.at === null ? "" : `, at ${shortTime(next.at)}`}`}`,
  ...(waitsFor === "nobody" ? [] : [`waits    for ${WAITS[waitsFor]}`]),
  ...(todo === null ? [] : [`do       ${todo}`]),
];
const WAITS = { host: "the host", person: "a person", server: "the server" } as const;

export function targetText(rollout: string, it: Detail): string {
  const wave = it.wave === null ? "in no wave yet" : `in wave ${it.wave + 1}`;
  const head = [
    `${it.hostName}  ${it.host}  ${rollout}, ${wave}`,
    `phase    ${it.phase} since ${shortTime(it.since)}`,
    `why      ${it.why}`,
    ...nextLines(it),
    `change   ${changeText(it)}`,
    `runs     ${it.runs || "it reports no version"}${it.connected ? "" : " (offline; as last heard)"}`,
    `way back ${it.wayBack === "yes" ? "yes" : `none (${it.wayBack})`}`,
  ];
  return [head.map(plain).join("\n"), attemptTable(it), stepTable(it), offerTable(it)]
    .filter((part) => part !== "")
    .join("\n\n");
}

const attemptTable = ({ attempts }: Detail): string =>
  table(
    attempts,
    [
      ["ATTEMPT", (one) => one.attempt],
      ["WAY", (one) => one.direction],
      ["WAVE", (one) => (one.wave === null ? null : one.wave + 1)],
      ["PHASE", (one) => one.phase],
      ["SINCE", (one) => shortTime(one.since)],
      ["OFFERED", (one) => shortTime(one.offeredAt)],
      ["ENDED", (one) => shortTime(one.finishedAt)],
      ["CLASS OR CODE", (one) => one.failureClass ?? one.code],
      ["ERROR", (one) => one.error || null],
    ],
    "no attempts",
  );

const NANOS_PER_MS = 1_000_000n;
const msOf = (nanos: string): number => Number(BigInt(nanos) / NANOS_PER_MS);

function stepTable({ attempts }: Detail): string {
  const rows = attempts.flatMap(({ attempt, steps }) => steps.map((step) => ({ attempt, step })));
  if (rows.length === 0) return "";
  return table(
    rows,
    [
      ["ATTEMPT", ({ attempt }) => attempt],
      ["STEP", ({ step }) => step.step],
      ["STATUS", ({ step }) => step.status],
      ["BEGAN (host's clock)", ({ step }) => beganText(step)],
      ["TOOK", ({ step }) => tookText(step)],
      ["ERROR", ({ step }) => step.error || null],
    ],
    "",
  );
}

const beganText = ({ startNanos }: Step): string | null =>
  msOf(startNanos) === 0 ? null : shortTime(new Date(msOf(startNanos)).toISOString());
const tookText = ({ status, startNanos, statusNanos }: Step): string | null =>
  status === "running" || status === "skipped" ? null : lengthText(msOf(statusNanos) - msOf(startNanos));

const offerTable = ({ offers }: Detail): string =>
  table(
    offers,
    [
      ["OFFER", (one) => one.kind],
      ["WAY", (one) => one.direction],
      ["ATTEMPT", (one) => one.attempt],
      ["OF", (one) => one.version ?? one.config?.slice(0, SHORT)],
      ["OPENED", (one) => shortTime(one.openedAt)],
      ["SENT", (one) => shortTime(one.sentAt)],
      ["CLOSED", (one) => shortTime(one.closedAt)],
      ["BECAUSE", (one) => one.closeReason],
    ],
    "no offer was made to it",
  );
