/** Rows of depots as the API shows them. */
import type { z } from "zod";
import type * as rest from "../domain/rest/depot.ts";
import type { DepotRow } from "../store/depots.ts";
import type { Running, Stock } from "../store/depot-view.ts";

export const isAnswering = ({ answeredAt, error }: DepotRow): boolean => answeredAt !== null && error === null;

/** Of the well disk that has least: each disk gets everything, so that one counts. Null: not known. */
export function leastFree({ disks }: Pick<DepotRow, "disks">): number | null {
  const free = disks.flatMap(({ state, freeBytes }) => (state === "ok" && freeBytes !== null ? [freeBytes] : []));
  return free.length === 0 ? null : Math.min(...free);
}

export const showDepot = (depot: DepotRow, stock: Stock | undefined): z.output<typeof rest.depot> => ({
  nodeId: depot.nodeId,
  zone: depot.zone,
  controlUrl: depot.controlUrl,
  readUrl: depot.readUrl,
  state: depot.state,
  drain: depot.drain,
  answering: isAnswering(depot),
  answeredAt: depot.answeredAt?.toISOString() ?? null,
  unansweredSince: depot.unansweredSince?.toISOString() ?? null,
  error: depot.error,
  generation: depot.generation,
  disks: depot.disks,
  copies: depot.copies,
  have: stock?.have ?? 0,
  whole: stock?.whole ?? 0,
  want: stock?.want ?? 0,
  capacity: capacityOf(depot, stock),
});

function capacityOf(depot: DepotRow, stock: Stock | undefined): z.output<typeof rest.depot>["capacity"] {
  const freeBytes = leastFree(depot);
  if (freeBytes === null || stock === undefined) return null;
  // a node that drains gets nothing new
  const missingBytes = depot.state === "active" ? stock.missingBytes : 0;
  const freeAfterBytes = freeBytes - missingBytes;
  const mean = stock.releases === 0 ? 0 : stock.wantBytes / stock.releases;
  const releasesLeft = mean === 0 ? null : Math.max(0, Math.floor(freeAfterBytes / mean));
  return { freeBytes, missingBytes, freeAfterBytes, releasesLeft };
}

export function showRunning(it: Running, now: Date): z.output<typeof rest.running> {
  const seconds = (now.getTime() - it.startedAt.getTime()) / 1_000;
  const { moved, all } = it.bytes;
  const etaSeconds = moved > 0 && seconds > 0 ? Math.ceil(((all - moved) * seconds) / moved) : null;
  return { ...it, startedAt: it.startedAt.toISOString(), etaSeconds };
}
