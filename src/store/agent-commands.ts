/**
 * Commands of people to one agent. A row and a notification: the process that holds the agent's connection takes it, whichever
 * it is. A command is waited for, never kept: what nobody took in time is not done later.
 */
import { CHANNELS } from "../domain/channels.ts";
import { notify, type Db } from "./database.ts";

export type CommandKind = "restart" | "resync";
export type CommandAnswer = "sent" | "not_connected" | "not_supported";

export type CommandTarget = {
  uid: string;
  hostName: string;
  kind: "collector" | "updater" | "unknown";
  connected: boolean;
  capabilities: bigint;
  /** What is being done to its host at the moment; null: nothing. */
  phase: string | null;
  offer: string | null;
  /** Components of the configuration that a resync would send, and that its collector does not have. */
  missing: string[] | null;
};

/**
 * What a resync sends: what Git wants, if that was sent to this agent before; else what it was sent last. What a rollout has
 * not brought to it yet does not come by this way.
 */
const RESYNC_CONFIG = `case
  when w.config_hash in (a.sent_config_hash, a.remote_config_hash, a.applied_config_hash, a.failed_config_hash)
    or exists (select from offers o where o.recipient = a.uid and o.config_hash = w.config_hash and o.sent_at is not null)
  then w.config_hash else coalesce(a.sent_config_hash, a.remote_config_hash) end`;

/** Locks the agent until the transaction ends. */
export async function lockCommandTarget(tx: Db, uid: string): Promise<CommandTarget | undefined> {
  const { rows } = await tx.query<CommandTarget>(
    `select a.uid, a.host_name as "hostName", a.kind, a.connected, a.capabilities,
        (select p.phase from attempts p where p.host = h.host and p.finished_at is null and p.phase <> 'pending' limit 1) as phase,
        (select o.kind from offers o where o.host = h.host and o.closed_at is null limit 1) as offer,
        missing_components(${RESYNC_CONFIG}, a.credential, a.components_hash) as missing
       from agents a left join wanted w on w.host = a.uid
         cross join lateral (select case when a.kind = 'updater' then a.collector_uid else a.uid end as host) h
      where a.uid = $1 for update of a`,
    [uid],
  );
  return rows[0];
}

/** The command waits from now on for whoever holds the agent's connection. Returns its id. */
export async function addCommand(
  tx: Db,
  it: { uid: string; kind: CommandKind; by: string },
  now: Date,
): Promise<string> {
  await tx.query("delete from agent_commands where uid = $1 and requested_at < $2", [
    it.uid,
    new Date(now.getTime() - KEPT_MS),
  ]);
  const { rows } = await tx.query<{ id: string }>(
    "insert into agent_commands (uid, kind, requested_by, requested_at) values ($1, $2, $3, $4) returning id",
    [it.uid, it.kind, it.by, now],
  );
  await notify(tx, CHANNELS.commands, it.uid);
  return rows[0]?.id ?? "";
}
const KEPT_MS = 24 * 3_600_000;

export type TakenCommand = { id: string; uid: string; kind: CommandKind; config: Buffer | null; body: Buffer | null };

/** Locks what waits for these agents and was not given up; for each resync with what it sends. */
export async function lockCommands(tx: Db, uids: readonly string[], since: Date): Promise<TakenCommand[]> {
  const { rows } = await tx.query<TakenCommand>(
    `with taken as (select id, uid, kind from agent_commands
       where answer is null and uid = any($1::uuid[]) and requested_at > $2 order by requested_at for update skip locked)
     select t.id, t.uid, t.kind, c.hash as config, c.body from taken t join agents a using (uid)
       left join wanted w on w.host = a.uid
       left join configs c on t.kind = 'resync' and c.hash = ${RESYNC_CONFIG}`,
    [uids, since],
  );
  return rows;
}

export type Answered = { id: string; answer: CommandAnswer; config: Buffer | null };

/** Writes what was done. Whoever waits is told by `tellAnswered`, once it has really left. */
export async function answerCommands(db: Db, answers: readonly Answered[], now: Date): Promise<void> {
  if (answers.length === 0) return;
  await db.query(
    `update agent_commands c set answer = x.answer, sent_config = x.config, answered_at = $4
       from unnest($1::uuid[], $2::text[], $3::bytea[]) as x(id, answer, config) where c.id = x.id`,
    [answers.map((one) => one.id), answers.map((one) => one.answer), answers.map((one) => one.config), now],
  );
}

export const tellAnswered = (db: Db, id: string): Promise<unknown> => notify(db, CHANNELS.commands, id);

export const readCommandAnswer = async (
  db: Db,
  id: string,
): Promise<{ answer: CommandAnswer | null; config: string | null } | undefined> =>
  (
    await db.query<{ answer: CommandAnswer | null; config: string | null }>(
      `select answer, encode(sent_config, 'hex') as config from agent_commands where id = $1`,
      [id],
    )
  ).rows[0];

/** Nobody waits for it any more: nobody does it later. False when somebody has just answered. */
export async function giveUpCommand(db: Db, id: string, now: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    "update agent_commands set answer = 'not_connected', answered_at = $2 where id = $1 and answer is null",
    [id, now],
  );
  return rowCount === 1;
}

export type FailedResync = { uid: string; config: Buffer; body: Buffer };

/**
 * Of these agents, the ones that refused what a resync sent them and ran another configuration of ours before: that one goes
 * back to them, as a rollout would do it. Nothing else is under way for them.
 */
export async function lockFailedResyncs(tx: Db, uids: readonly string[]): Promise<FailedResync[]> {
  if (uids.length === 0) return [];
  const { rows } = await tx.query<FailedResync>(
    `select a.uid, c.hash as config, c.body from agents a join configs c on c.hash = a.applied_config_hash
      where a.uid = any($1::uuid[]) and a.sent_config_by = 'resync' and a.remote_config_status = 3
        and a.remote_config_hash = a.sent_config_hash and a.applied_config_hash <> a.sent_config_hash
        and not exists (select from offers o where o.host = a.uid and o.closed_at is null)
      order by a.uid for update of a`,
    [uids],
  );
  return rows;
}
