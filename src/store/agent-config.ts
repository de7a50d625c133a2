/**
 * What agents were sent and what became of it: noted before a byte leaves, compared with what they run, read for pages. The
 * effective configuration is sealed here and stays so: only a process with `secrets.keyFile` opens it.
 */
import type { Db } from "./database.ts";

export type SentBy = "offer" | "resync" | "take_back";
export type SentConfig = { uid: string; hash: Buffer; by: SentBy };

/**
 * Notes that these leave now. A failure of the same configuration is forgotten: it is tried again, and only a new report
 * says what became of it.
 */
export async function noteConfigsSent(tx: Db, sent: readonly SentConfig[], now: Date): Promise<void> {
  if (sent.length === 0) return;
  const uids = sent.map((one) => one.uid);
  // The order in which everybody locks agents.
  await tx.query("select 1 from agents where uid = any($1::uuid[]) order by uid for update", [uids]);
  await tx.query(
    `update agents a set sent_config_hash = s.hash, sent_config_at = $4, sent_config_by = s.by, drift_due = true,
        remote_config_status = case when again.st then 0 else a.remote_config_status end,
        remote_config_error = case when again.st then '' else a.remote_config_error end,
        failed_config_hash = case when again.failed then null else a.failed_config_hash end,
        failed_config_error = case when again.failed then '' else a.failed_config_error end,
        failed_config_at = case when again.failed then null else a.failed_config_at end
       from unnest($1::uuid[], $2::bytea[], $3::text[]) as s(uid, hash, by) join agents b using (uid)
         cross join lateral (select b.failed_config_hash is not distinct from s.hash as failed,
           b.remote_config_hash is not distinct from s.hash and b.remote_config_status = 3 as st) again
      where a.uid = s.uid`,
    [uids, sent.map((one) => one.hash), sent.map((one) => one.by), now],
  );
}

/** An older failure of these sets says nothing of the offer that leaves now. */
export async function forgetPackageFailures(
  tx: Db,
  offers: readonly { recipient: string; packagesHash: string }[],
): Promise<void> {
  if (offers.length === 0) return;
  const uids = offers.map((one) => one.recipient);
  await tx.query("select 1 from agents where uid = any($1::uuid[]) order by uid for update", [uids]);
  await tx.query(
    `update agents a set package_status = null from unnest($1::uuid[], $2::text[]) as o(uid, hash)
      where a.uid = o.uid and a.package_status->>'status' = 'install_failed' and a.package_status->>'allPackagesHash' = o.hash`,
    [uids, offers.map((one) => one.packagesHash)],
  );
}

/** A collector whose drift is to be judged. `of`: what it should be running by its own word, or was sent without a word. */
export type DriftCase = { uid: string; effective: Buffer | null; of: Buffer | null; body: Buffer | null };

/** Locks at most `limit` of them until the transaction ends; other processes take others. */
export async function lockDriftDue(tx: Db, limit: number): Promise<DriftCase[]> {
  const { rows } = await tx.query<DriftCase>(
    `select d.uid, d.effective_config as effective, d.reference as of, c.body from (
       select a.uid, a.effective_config, case
           when a.sent_config_hash is null or a.sent_config_hash in (a.remote_config_hash, a.failed_config_hash)
           then case when a.remote_config_status = 1 then a.remote_config_hash end
           else a.sent_config_hash end as reference
         from agents a where a.drift_due order by a.uid limit $1 for update skip locked) d
       left join configs c on c.hash = d.reference`,
    [limit],
  );
  return rows;
}

export type DriftVerdict = { uid: string; of: Buffer | null; paths: string[] | null };

/** Writes verdicts. Returns the agents whose drift is another one than before. */
export async function writeDrift(tx: Db, verdicts: readonly DriftVerdict[]): Promise<string[]> {
  const { rows } = await tx.query<{ uid: string; changed: boolean }>(
    `update agents a set drift_due = false, drift = v.paths, drift_of = v.of
       from (select x.uid, decode(x.of, 'hex') as of, x.paths from jsonb_to_recordset($1) as x(uid uuid, of text, paths text[])) v
         join agents b using (uid)
      where a.uid = v.uid
      returning a.uid, b.drift is distinct from v.paths or b.drift_of is distinct from v.of as changed`,
    [JSON.stringify(verdicts.map(({ uid, of, paths }) => ({ uid, of: of?.toString("hex") ?? null, paths })))],
  );
  return rows.filter((row) => row.changed).map((row) => row.uid);
}

export type AgentConfigRow = {
  uid: string;
  hostName: string;
  kind: string;
  effective: Buffer | null;
  sentHash: string | null;
  sentAt: Date | null;
  sentBody: Buffer | null;
  receivedHash: string | null;
  /** Configurations of ours that the effective one may come from. */
  references: Buffer[];
};

export async function readAgentConfig(db: Db, uid: string): Promise<AgentConfigRow | undefined> {
  const { rows } = await db.query<AgentConfigRow>(
    `select a.uid, a.host_name as "hostName", a.kind, a.effective_config as effective,
        encode(coalesce(a.sent_config_hash, a.remote_config_hash), 'hex') as "sentHash", a.sent_config_at as "sentAt",
        (select body from configs where hash = coalesce(a.sent_config_hash, a.remote_config_hash)) as "sentBody",
        encode(a.remote_config_hash, 'hex') as "receivedHash",
        array(select body from configs where hash in (a.sent_config_hash, a.remote_config_hash, a.applied_config_hash,
          a.failed_config_hash)) as "references"
       from agents a where a.uid = $1`,
    [uid],
  );
  return rows[0];
}
