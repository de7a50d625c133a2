/** Opening offers: who may be offered now, in bounded batches, under the rollout's lock. */
import { goalOf, openingOf, partsOf, CONFIG_STATUS, type Goal } from "../domain/rollout/attempt-facts.ts";
import { heldBy, isHeld } from "../domain/rollout/holds.ts";
import { refuseOffer } from "../domain/rollout/judge-offer.ts";
import { BEFORE_STOP, isFinalState, type Direction, type Part } from "../domain/rollout/phases.ts";
import { windowsAt } from "../domain/rollout/windows.ts";
import { applyMoves, readInFlight, type Move } from "../store/attempts.ts";
import type { Db } from "../store/database.ts";
import { openOffers, type NewOffer } from "../store/offers.ts";
import { readSlots, refreshState } from "../store/rollout-state.ts";
import { lockFleet, readRollout, type RolloutRow } from "../store/rollouts.ts";
import {
  beginAttempts,
  cancelPending,
  openBackAttempts,
  postpone,
  readCandidates,
  type Begin,
  type Cancellation,
  type Candidate,
} from "../store/targets.ts";

export type OfferScope = { fleet: string; n: number; k: number | null; direction: Direction };
export type Offered = { opened: number; cancelled: number };

/** What a host without its artifact, or without a live updater, waits before it is looked at again. */
const LATER_MS = 5_000;

/** Opens at most `limit` offers. Nothing is opened under a hold, at an end, outside a window or above the cap. */
export async function offerBatch(tx: Db, at: OfferScope, limit: number, now: Date): Promise<Offered> {
  // The cap is the fleet's: its rollout and its catch-up count their slots one after the other.
  await lockFleet(tx, at.fleet);
  const row = await readRollout(tx, at.fleet, at.n, "update");
  if (row === undefined || isFinalState(row.state)) return { opened: 0, cancelled: 0 };
  if (at.direction === "back") {
    await withdrawBeforeStop(tx, row, "rolled back", now);
    await openBackAttempts(tx, at.fleet, at.n, now);
  }
  if (!mayOffer(row, at.direction, now)) return { opened: 0, cancelled: 0 };
  const { cap, inFlight } = await readSlots(tx, row);
  const room = Math.min(limit, cap - inFlight, row.policy.spacingMs > 0 ? 1 : limit);
  if (room <= 0) return { opened: 0, cancelled: 0 };
  const candidates = await readCandidates(tx, { ...at, now, limit: room });
  const sorted = sortOut(row, at.direction, candidates);
  const cancelled = await cancelPending(tx, at.fleet, at.n, sorted.cancel, now);
  const opened = await begin(tx, row, at.direction, sorted.begin, now);
  const later = new Date(now.getTime() + LATER_MS);
  await postpone(tx, at.fleet, at.n, [...sorted.later, ...opened.impossible], later);
  if (opened.begun + cancelled > 0) await refreshState(tx, at.fleet, at.n, now);
  return { opened: opened.begun, cancelled };
}

/** A hold stops forward offers and a rollback's; only a revoked release does not stop going back. */
export function mayOffer(row: RolloutRow, direction: Direction, now: Date): boolean {
  if (direction === "back") return row.ending === "rollback" && heldBy(row.holds).every((hold) => hold === "revoked");
  return row.ending === null && !isHeld(row.holds) && windowsAt(row.policy.windows, now.getTime()).open;
}

type Sorted = { begin: { candidate: Candidate; part: Part | null }[]; cancel: Cancellation[]; later: string[] };

function sortOut(row: RolloutRow, direction: Direction, candidates: readonly Candidate[]): Sorted {
  const sorted: Sorted = { begin: [], cancel: [], later: [] };
  for (const candidate of candidates) {
    const goal = goalOf(candidate.target, direction);
    const refusal = refusalOf(row, direction, candidate, goal);
    const part = nextPart(candidate, direction, goal);
    if (refusal !== undefined) sorted.cancel.push({ host: candidate.host, ...refusal });
    else if (part === "package" && (candidate.artifactState !== "verified" || !candidate.updaterConnected))
      sorted.later.push(candidate.host);
    else sorted.begin.push({ candidate, part });
  }
  return sorted;
}

function refusalOf(
  row: RolloutRow,
  direction: Direction,
  candidate: Candidate,
  goal: Goal,
): Omit<Cancellation, "host"> | undefined {
  if (direction === "forward" && !candidate.isMember)
    return { code: "moved", message: "the host belongs to another fleet now" };
  const refusal = refuseOffer(candidate, goal, row.distribution);
  if (refusal !== undefined) return refusal;
  if (nextPart(candidate, direction, goal) !== "package") return undefined;
  if (candidate.artifactState === "failed")
    return {
      code: "artifact_incomplete",
      message: `the artifact of ${goal.version ?? ""} for this platform cannot be had`,
    };
  if (direction === "back" && candidate.artifactState === null)
    return {
      code: "no_way_back",
      message: `the server has no signed artifact of ${goal.version ?? "an unknown version"}`,
    };
  return undefined;
}

/** The first part that the host is not at already; null when it is where it should be. */
function nextPart(candidate: Candidate, direction: Direction, goal: Goal): Part | null {
  const isAt: Record<Part, boolean> = {
    package: goal.version === null || candidate.version === goal.version,
    config:
      goal.config === null || (candidate.config === goal.config && candidate.configStatus === CONFIG_STATUS.applied),
  };
  return partsOf(candidate.target, direction).find((part) => !isAt[part]) ?? null;
}

async function begin(
  tx: Db,
  row: RolloutRow,
  direction: Direction,
  begins: Sorted["begin"],
  now: Date,
): Promise<{ begun: number; impossible: string[] }> {
  const offers = begins.flatMap(({ candidate: { host, attempt, target }, part }): NewOffer[] =>
    part === null ? [] : [{ host, attempt, ...openingOf(target, direction, part) }],
  );
  const impossible = await openOffers(tx, { fleet: row.fleet, n: row.n, now }, offers);
  const failed = new Set(impossible.map((offer) => offer.host));
  const begun = begins.filter(({ candidate }) => !failed.has(candidate.host));
  await beginAttempts(tx, row.fleet, row.n, begun.map(toBegin), now, deadlines(row, now));
  return { begun: begun.length, impossible: [...failed] };
}

/** A host that is where it should be has only its health to show. */
const toBegin = ({ candidate: { host, attempt, unhealthy }, part }: Sorted["begin"][number]): Begin => ({
  host,
  attempt,
  part,
  phase: part === null ? "health_wait" : "offered",
  unhealthy,
});

const deadlines = ({ policy }: RolloutRow, now: Date) => ({
  offered: new Date(now.getTime() + policy.targetTimeoutMs),
  healthWait: new Date(now.getTime() + policy.targetTimeoutMs + policy.healthWaitMs),
});

/**
 * Takes back what the hosts (all of the rollout, or `only` these) have not stopped their supervisor for: each is offered what
 * it runs. Returns how many.
 */
export async function withdrawBeforeStop(
  tx: Db,
  row: RolloutRow,
  why: string,
  now: Date,
  only?: ReadonlySet<string>,
): Promise<number> {
  const inFlight = await readInFlight(tx, row.fleet, row.n);
  const moves = inFlight
    .filter(({ host, facts, offer, target }) => {
      // A target between its two parts goes on: taking back one of them would leave it with neither state.
      const isFirstPart = facts.part === "package" && partsOf(target, "forward")[0] === "package";
      return (
        isFirstPart &&
        (only === undefined || only.has(host)) &&
        offer?.direction !== "take_back" &&
        facts.direction === "forward" &&
        BEFORE_STOP.includes(facts.phase)
      );
    })
    .map((from): Move => ({
      from,
      to: { phase: "cancelled", failureClass: "withdrawn", error: `withdrawn: ${why}`, close: why, withdraw: true },
    }));
  return (await applyMoves(tx, row.fleet, row.n, moves, now)).length;
}
