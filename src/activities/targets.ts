/**
 * Activities of a wave: who is in it, opening offers in bounded batches, and watching the rows until a decision is needed.
 * Never one activity or signal per host (docs/adr/0005).
 */
import { heldBy } from "../domain/rollout/holds.ts";
import { refuseOffer } from "../domain/rollout/judge-offer.ts";
import { isApproved } from "../domain/rollout/judge-control.ts";
import { goalOf } from "../domain/rollout/attempt-facts.ts";
import { isFinalState } from "../domain/rollout/phases.ts";
import { pickWave } from "../domain/rollout/waves.ts";
import type { Db } from "../store/database.ts";
import { transaction } from "../store/database.ts";
import { readView, refreshState, setWave, type RolloutView } from "../store/rollout-state.ts";
import { readRollout, readWaves, type RolloutRow, type WaveRow } from "../store/rollouts.ts";
import {
  assignWave,
  cancelPending,
  countWave,
  readMembers,
  readUnassigned,
  type Cancellation,
} from "../store/targets.ts";
import { watchWave, type Seen, type WatchInput } from "./watch-wave.ts";
import { offerBatch, type Offered, type OfferScope } from "./offering.ts";
import { mustView, type RolloutDeps } from "./rollout-deps.ts";

export type WaveRef = { fleet: string; n: number; k: number };

export function createTargetActivities(deps: RolloutDeps) {
  const { pool, now } = deps;
  return {
    /**
     * Counts wave `k` now and starts it, or asks for its approval, or skips it when it is empty. Under a hold or at an end
     * nothing starts. Returns the rollout as it is afterwards.
     */
    async openWave({ fleet, n, k }: WaveRef): Promise<RolloutView> {
      await transaction(pool, (tx) => startWave(tx, { fleet, n, k }, now()));
      return mustView(await readView(pool, fleet, n, now()), fleet, n);
    },

    /** Opens at most `limit` offers of a wave (`k` null: of the whole rollout). Safe to repeat. */
    openOffers({ limit, ...scope }: OfferScope & { limit: number }): Promise<Offered> {
      return transaction(pool, (tx) => offerBatch(tx, scope, limit, now()));
    },

    /** Watches a wave until it needs a decision: see `Seen`. Heartbeats; survives the loss of its worker. */
    observeWave: (input: WatchInput): Promise<Seen> => watchWave(deps, input),
  };
}

async function startWave(tx: Db, { fleet, n, k }: WaveRef, now: Date): Promise<void> {
  const row = await readRollout(tx, fleet, n, "update");
  if (row === undefined || isFinalState(row.state) || row.ending !== null || heldBy(row.holds).length > 0) return;
  const waves = await readWaves(tx, fleet, n);
  const wave = waves.find((one) => one.k === k);
  if (wave === undefined || (wave.state !== "pending" && wave.state !== "waiting_approval")) return;
  const isLast = k === waves.at(-1)?.k;
  const { hosts, refused } = await chooseHosts(tx, row, wave, isLast);
  const again = await countWave(tx, { fleet, n, k, direction: "forward", now });
  const size = hosts.length + (again.phases.pending ?? 0);
  if (size > 0 && !isApproved(wave.approval, row.approvals[String(k)] ?? [])) {
    await setWave(tx, fleet, n, k, "waiting_approval", now, size);
  } else {
    if (isLast) await cancelPending(tx, fleet, n, refused, now);
    await assignWave(tx, fleet, n, k, hosts);
    await setWave(tx, fleet, n, k, size === 0 ? "skipped" : "running", now, size);
  }
  await refreshState(tx, fleet, n, now);
}

/**
 * Who the wave takes: targets that cannot be offered count for no share. They are passed over, so that a canary is a host
 * that can be updated, and cancelled with their code when the last wave starts.
 */
async function chooseHosts(
  tx: Db,
  { fleet, n, distribution }: RolloutRow,
  { k, upTo, selects }: WaveRow,
  last: boolean,
): Promise<{ hosts: string[]; refused: Cancellation[] }> {
  const unassigned = await readUnassigned(tx, fleet, n);
  const refused = unassigned.flatMap((candidate): Cancellation[] => {
    if (!candidate.isMember)
      return [{ host: candidate.host, code: "moved", message: "the host belongs to another fleet now" }];
    const refusal = refuseOffer(candidate, goalOf(candidate.target, "forward"), distribution);
    return refusal === undefined ? [] : [{ host: candidate.host, ...refusal }];
  });
  const out = new Set(refused.map((one) => one.host));
  const members = (await readMembers(tx, fleet, n)).map((member) =>
    out.has(member.host) ? { ...member, state: "out" as const } : member,
  );
  return { hosts: pickWave({ k, upTo, selects, last }, members), refused };
}
