/**
 * Rows behind retention: the facts of every release that depots keep, and the removal of one. A removal reads everything
 * again in its own transaction and is refused when anything moved meanwhile (depot-anchors 1.4).
 */
import { retain, type ReleaseFacts } from "../domain/artifact/retention.ts";
import { appendAudit } from "./audit.ts";
import type { Db } from "./database.ts";
import { appendEvent } from "./events.ts";
import { lockRelease } from "./pins.ts";
import { releaseKey, usersOf, usersOfAll } from "./release-users.ts";
import type { ReleaseName } from "./releases.ts";
import { unwantRelease } from "./wanted-set.ts";

export type KeptRelease = ReleaseFacts & {
  archives: number;
  bytes: number;
  pin: { by: string; reason: string; at: Date; until: Date | null } | null;
};

const FACTS = `
  select r.distribution, r.version, extract(epoch from r.unneeded_since)::float8 * 1000 as "unneededSinceMs", count(*)::int as archives,
    sum(a.size_bytes)::float8 as bytes,
    extract(epoch from greatest(max(a.verified_at), (select max(o.closed_at) from offers o join artifacts f
      on f.id = o.artifact where f.distribution = r.distribution and f.version = r.version)))::float8 * 1000 as "touchedAtMs",
    (select jsonb_build_object('by', p.by, 'reason', p.reason, 'at', p.at, 'until', p.until) from release_pins p
      where p.distribution = r.distribution and p.version = r.version) as pin
  from releases r join artifacts a using (distribution, version)
  where a.wanted and ($1::text is null or (r.distribution = $1 and r.version = $2))
  group by r.distribution, r.version, r.unneeded_since order by r.distribution, r.version`;
type Row = Omit<KeptRelease, "users" | "pin"> & {
  pin: { by: string; reason: string; at: string; until: string | null } | null;
};

/** Every release that depots keep, with everybody who needs it. */
export async function keptReleases(db: Db): Promise<KeptRelease[]> {
  const [{ rows }, users] = await Promise.all([db.query<Row>(FACTS, [null, null]), usersOfAll(db)]);
  return rows.map((row) => ({ ...row, users: users.get(releaseKey(row)) ?? [], pin: pinOf(row) }));
}

/** The same of one; undefined when depots keep nothing of it. */
async function keptRelease(db: Db, it: ReleaseName): Promise<KeptRelease | undefined> {
  const row = (await db.query<Row>(FACTS, [it.distribution, it.version])).rows[0];
  return row && { ...row, users: await usersOf(db, it), pin: pinOf(row) };
}

const pinOf = ({ pin }: Row): KeptRelease["pin"] =>
  pin && { ...pin, at: new Date(pin.at), until: pin.until === null ? null : new Date(pin.until) };

/**
 * Remembers since when nobody needs each: `keepFor` counts from the first look that found nobody. Resolves with the facts
 * as they are afterwards.
 */
export async function noteNeeds<F extends ReleaseFacts>(db: Db, facts: readonly F[], now: Date): Promise<F[]> {
  const rows = facts.map(({ distribution, version, users }) => ({ distribution, version, needed: users.length > 0 }));
  await db.query(
    `update releases r set unneeded_since = case when f.needed then null else coalesce(r.unneeded_since, $2) end
     from jsonb_to_recordset($1::jsonb) as f (distribution text, version text, needed boolean)
     where r.distribution = f.distribution and r.version = f.version and f.needed = (r.unneeded_since is not null)`,
    [JSON.stringify(rows), now],
  );
  return facts.map((it) => ({
    ...it,
    unneededSinceMs: it.users.length > 0 ? null : (it.unneededSinceMs ?? now.getTime()),
  }));
}

const nameOf = ({ distribution, version }: ReleaseName): ReleaseName => ({ distribution, version });

export type Removal = "deleted" | "needed" | "moved";

/**
 * Removes one release that nothing needs any more: wanted set, generation and outbox in the caller's transaction. Reads
 * its facts again under the locks of pins and of Git's snapshot; `moved`: the wanted set changed since `generation`.
 */
export async function removeExpired(
  tx: Db,
  it: ReleaseName,
  { generation, keepForMs, now }: { generation: number; keepForMs: number; now: Date },
): Promise<Removal> {
  await lockRelease(tx, it);
  // no snapshot comes into force, and so nothing new is planned, between the look and the removal
  await tx.query("select from gitops_state for share");
  const current = await tx.query<{ generation: number }>(
    "select generation::float8 as generation from artifact_config for update",
  );
  if (current.rows[0]?.generation !== generation) return "moved";
  const facts = await keptRelease(tx, it);
  if (facts === undefined) return "moved";
  const decision = retain(facts, now.getTime(), keepForMs);
  if (decision.do !== "delete") return "needed";
  await unwantRelease(tx, it, `retention of ${it.distribution} ${it.version}`);
  const detail = {
    unneededSince: new Date(decision.sinceMs).toISOString(),
    archives: facts.archives,
    bytes: facts.bytes,
  };
  const object = `release/${it.distribution}/${it.version}`;
  await appendAudit(tx, { principal: "system", action: "release.expire", object, outcome: "accepted", detail }, now);
  await appendEvent(tx, "depots", { kind: "release", ...nameOf(it), state: "expire" });
  return "deleted";
}
