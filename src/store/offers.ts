/**
 * Open offers: the only rows that packages and configurations are sent from. Whoever opens or closes one holds the
 * rollout's row first; no host ever has two (a unique index holds that too).
 */
import { createHash } from "node:crypto";
import { CHANNELS } from "../domain/channels.ts";
import type { Part } from "../domain/rollout/phases.ts";
import type { Db } from "./database.ts";

export type NewOffer = {
  host: string;
  attempt: number;
  kind: Part;
  direction: "forward" | "back" | "take_back";
  version: string | null;
  /** Hexadecimal. */
  config: string | null;
};
export type OfferScope = { fleet: string; n: number; now: Date };

/** All-packages hash of a release for one platform: never of its token or the time, so that a fresh token is no new set. */
export const packagesHashOf = (version: string, archiveSha256: Uint8Array, bundle: string): Buffer =>
  createHash("sha256").update(`v${version}\n`).update(archiveSha256).update("\n").update(bundle).digest();

/** Packages go to the linked updater, configurations to the collector itself. */
const UPDATER_OF = `left join lateral (select uid from agents where collector_uid = c.uid and link = 'linked'
  order by connected desc, last_seen_at desc limit 1) u on true`;

type Resolved = {
  host: string;
  updater: string | null;
  artifact: string | null;
  sha256: Buffer | null;
  bundle: string | null;
  version: string | null;
};

/** Updater and verified artifact of each host for a version; null where there is none. */
async function resolvePackages(
  db: Db,
  hosts: readonly string[],
  versions: readonly (string | null)[],
): Promise<Map<string, Resolved>> {
  const { rows } = await db.query<Resolved>(
    `select c.uid as host, u.uid as updater, f.id as artifact, f.sha256, f.bundle, w.version
       from unnest($1::uuid[], $2::text[]) as w(host, version) join agents c on c.uid = w.host ${UPDATER_OF}
         left join artifacts f on f.distribution = c.service_name and f.version = w.version and f.os = c.os
           and f.arch = c.arch and f.state = 'verified' and f.sha256 is not null and f.bundle is not null
           and not exists (select from releases r where r.distribution = f.distribution and r.version = f.version
             and r.revoked_at is not null)`,
    [hosts, versions],
  );
  return new Map(rows.map((row) => [row.host, row]));
}

type OfferRow = Record<"host" | "recipient" | "kind" | "direction", string> & {
  attempt: number | null;
  version: string | null;
  artifact: string | null;
  config: string | null;
  packages: string | null;
};

/** Opens offers and wakes their recipients. Returns those that could not be opened: no updater, artifact or free host. */
export async function openOffers(tx: Db, scope: OfferScope, offers: readonly NewOffer[]): Promise<NewOffer[]> {
  if (offers.length === 0) return [];
  const packages = offers.filter((offer) => offer.kind === "package");
  const resolved = await resolvePackages(
    tx,
    packages.map((offer) => offer.host),
    packages.map((offer) => offer.version),
  );
  const rows = offers.flatMap((offer): OfferRow[] => {
    const { host, attempt, kind, direction, version, config } = offer;
    if (kind === "config")
      return config === null
        ? []
        : [{ host, attempt, kind, direction, recipient: host, version: null, artifact: null, config, packages: null }];
    const row = packageRow(resolved.get(host));
    return row === undefined ? [] : [{ host, attempt, kind, direction, version, config: null, ...row }];
  });
  const opened = await insertOffers(tx, scope, rows);
  return offers.filter((offer) => !opened.has(offer.host));
}

function packageRow(found: Resolved | undefined): Pick<OfferRow, "recipient" | "artifact" | "packages"> | undefined {
  if (found === undefined || found.updater === null || found.artifact === null) return undefined;
  if (found.sha256 === null || found.bundle === null || found.version === null) return undefined;
  const packages = packagesHashOf(found.version, found.sha256, found.bundle).toString("hex");
  return { recipient: found.updater, artifact: found.artifact, packages };
}

/** Returns the hosts whose offer is open now. */
async function insertOffers(tx: Db, { fleet, n, now }: OfferScope, rows: readonly OfferRow[]): Promise<Set<string>> {
  if (rows.length === 0) return new Set();
  const inserted = await tx.query<{ host: string; recipient: string }>(
    `insert into offers (host, recipient, kind, direction, fleet, n, attempt, version, artifact, config_hash, packages_hash, opened_at)
     select r.host, r.recipient, r.kind, r.direction, $1, $2, r.attempt, r.version, r.artifact, decode(r.config, 'hex'),
       decode(r.packages, 'hex'), $3
       from jsonb_to_recordset($4) as r(host uuid, recipient uuid, kind text, direction text, attempt int, version text,
         artifact uuid, config text, packages text)
     on conflict do nothing returning host, recipient`,
    [fleet, n, now, JSON.stringify(rows)],
  );
  await wake(
    tx,
    inserted.rows.map((row) => row.recipient),
  );
  return new Set(inserted.rows.map((row) => row.host));
}

const wake = (tx: Db, recipients: readonly string[]): Promise<unknown> =>
  tx.query("select pg_notify($1, uid) from unnest($2::text[]) as uid", [CHANNELS.offers, recipients]);

export type Closing = { host: string; attempt: number; reason: string };

/** Closes the open offers of these attempts; their tokens are refused from now on. */
export async function closeOffers(tx: Db, { fleet, n, now }: OfferScope, closings: readonly Closing[]): Promise<void> {
  const { rows } = await tx.query<{ recipient: string }>(
    `update offers o set closed_at = $3, close_reason = x.reason
       from unnest($4::uuid[], $5::int[], $6::text[]) as x(host, attempt, reason)
      where o.fleet = $1 and o.n = $2 and o.host = x.host and o.attempt = x.attempt and o.closed_at is null
      returning o.recipient`,
    [fleet, n, now, closings.map((c) => c.host), closings.map((c) => c.attempt), closings.map((c) => c.reason)],
  );
  await wake(
    tx,
    rows.map((row) => row.recipient),
  );
}

/**
 * Offers these hosts the version that they run, so that an attempt that has not stopped the supervisor ends. A host whose
 * version the server has no artifact of gets nothing: an empty set is never sent.
 */
export async function openWithdrawals(tx: Db, scope: OfferScope, hosts: readonly string[]): Promise<void> {
  if (hosts.length === 0) return;
  const { rows } = await tx.query<{ host: string; version: string }>(
    "select uid as host, version from agents where uid = any($1::uuid[])",
    [hosts],
  );
  const resolved = await resolvePackages(
    tx,
    rows.map((row) => row.host),
    rows.map((row) => row.version),
  );
  const offers = rows.flatMap(({ host, version }): OfferRow[] => {
    const row = packageRow(resolved.get(host));
    if (row === undefined) return [];
    return [{ host, attempt: null, kind: "withdraw", direction: "withdraw", version, config: null, ...row }];
  });
  await insertOffers(tx, scope, offers);
}

/** A withdrawal is over when the host reports that set installed, or after this time. */
const WITHDRAWAL_MS = 300_000;

/** Closes withdrawals that are over. Returns how many are still open, and when the next one is. */
export async function closeWithdrawals(db: Db, now: Date): Promise<{ open: number; nextMs: number | null }> {
  await db.query(
    `update offers o set closed_at = $1, close_reason = case when o.opened_at <= $2 then 'deadline' else 'installed' end
       from agents u where o.kind = 'withdraw' and o.closed_at is null and u.uid = o.recipient
        and (o.opened_at <= $2 or (u.package_status->>'status' = 'installed'
          and u.package_status->>'allPackagesHash' = encode(o.packages_hash, 'hex')))`,
    [now, new Date(now.getTime() - WITHDRAWAL_MS)],
  );
  const { rows } = await db.query<{ open: number; first: Date | null }>(
    "select count(*)::int as open, min(opened_at) as first from offers where kind = 'withdraw' and closed_at is null",
  );
  const first = rows[0]?.first ?? null;
  return { open: rows[0]?.open ?? 0, nextMs: first === null ? null : first.getTime() + WITHDRAWAL_MS };
}
