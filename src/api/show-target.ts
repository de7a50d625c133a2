/** One target as the API shows it: phase, since when, what it waits for or why it ended so, and all its attempts. */
import type { z } from "zod";
import { isFailureClass } from "../domain/brand.ts";
import type { attempt, target, targetDetail } from "../domain/rest/rollout.ts";
import type { Explained, ExplainRollout } from "../domain/rollout/explain-situation.ts";
import { explainTarget } from "../domain/rollout/explain-target.ts";
import type { AttemptView, RolloutDetail, TargetView } from "../store/rollouts.ts";
import type { TargetOffer } from "../store/target-offers.ts";

/** What explanations of its targets need of a rollout. */
export const explainedRollout = (it: RolloutDetail): ExplainRollout => ({
  fleet: it.fleet,
  n: it.n,
  kind: it.kind,
  state: it.state,
  reason: it.reason,
  next: it.next && { what: it.next.what, atMs: it.next.at?.getTime() ?? null },
  holds: it.holds,
  ending: it.ending,
  wave: it.wave,
  waves: it.waves,
  healthWaitMs: it.policy.healthWaitMs,
});

/** The target in sentences. Its last attempt is the current one. */
export function explainRow(it: TargetView, rollout: ExplainRollout, now: Date): Explained {
  const current = currentOf(it);
  return explainTarget({
    target: it,
    attempt: {
      ...current,
      sinceMs: current.since.getTime(),
      deadlineMs: current.deadlineAt?.getTime() ?? null,
      notBeforeMs: current.notBefore?.getTime() ?? null,
      healthFromMs: current.healthFrom?.getTime() ?? null,
      failureClass: isFailureClass(current.failureClass) ? current.failureClass : null,
    },
    rollout,
    host:
      it.lastSeenAt === null
        ? null
        : { connected: it.connected, lastSeenMs: it.lastSeenAt.getTime(), version: it.version },
    nowMs: now.getTime(),
  });
}

export function currentOf({ host, attempts }: TargetView): AttemptView {
  const current = attempts.at(-1);
  if (current === undefined) throw new Error(`target ${host} has no attempt`);
  return current;
}

/** What happens next, as the API says it. */
export const showNext = (next: Explained["next"]) =>
  next && { what: next.what, at: next.atMs === null ? null : new Date(next.atMs).toISOString() };

export function showTarget(it: TargetView, rollout: ExplainRollout, now: Date): z.output<typeof target> {
  const current = currentOf(it);
  const { what, next, waitsFor, todo } = explainRow(it, rollout, now);
  return {
    host: it.host,
    hostName: it.hostName,
    ord: it.ord,
    wave: it.wave,
    fromVersion: it.fromVersion,
    toVersion: it.toVersion,
    fromConfig: it.fromConfig,
    toConfig: it.toConfig,
    wayBack: it.wayBack,
    connected: it.connected,
    runs: it.version,
    phase: current.phase,
    since: current.since.toISOString(),
    why: what,
    next: showNext(next),
    waitsFor,
    todo,
    attempts: it.attempts.map(showAttempt),
  };
}

/** With every offer that was made to it. */
export const showTargetDetail = (
  it: TargetView,
  offers: readonly TargetOffer[],
  rollout: ExplainRollout,
  now: Date,
): z.output<typeof targetDetail> => ({
  ...showTarget(it, rollout, now),
  offers: offers.map((offer) => ({
    ...offer,
    openedAt: offer.openedAt.toISOString(),
    sentAt: offer.sentAt?.toISOString() ?? null,
    closedAt: offer.closedAt?.toISOString() ?? null,
  })),
});

const showAttempt = (it: AttemptView): z.output<typeof attempt> => ({
  attempt: it.attempt,
  direction: it.direction,
  wave: it.wave,
  phase: it.phase,
  since: it.since.toISOString(),
  deadlineAt: it.deadlineAt?.toISOString() ?? null,
  notBefore: it.notBefore?.toISOString() ?? null,
  offeredAt: it.offeredAt?.toISOString() ?? null,
  finishedAt: it.finishedAt?.toISOString() ?? null,
  failureClass: isFailureClass(it.failureClass) ? it.failureClass : null,
  code: it.code,
  error: it.error,
  steps: it.steps,
});
