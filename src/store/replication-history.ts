/**
 * What became of copies and nodes: a bounded history for people, events for pages, and a notification when somebody has
 * to know. The word of each artifact is kept, so that a change is told once, whoever sees it first.
 */
import {
  replicationWord,
  whatHappened,
  type CopyCounts,
  type Happened,
  type ReplicationWord,
} from "../domain/artifact/replication-word.ts";
import type { FindingKind, NodeStatus } from "../domain/depot/node-status.ts";
import type { Db } from "./database.ts";
import { appendEvent } from "./events.ts";
import { noteNotification } from "./notifications.ts";

/** Of an artifact as `whatHappened` says; of a copy on a node; of a node. */
export type HistoryKind = Happened | FindingKind | "silent" | "answering" | "draining" | "undrained" | "removed";
export type HistoryEntry = {
  kind: HistoryKind;
  at: Date;
  /** Null: of an artifact as a whole. */
  node: string | null;
  /** Null: of a node as a whole. */
  sha256: string | null;
  detail: Record<string, unknown>;
};
/** Kept at most; the oldest go. */
const KEPT = 20_000;

/** Appends to the history, with an event each for pages. Call it inside a transaction. */
export async function noteHistory(tx: Db, entries: readonly HistoryEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await tx.query(
    `insert into replication_history (at, kind, node_id, sha256, detail)
     select h.at, h.kind, h.node, decode(h.sha256, 'hex'), h.detail
     from jsonb_to_recordset($1::jsonb) as h (at timestamptz, kind text, node text, sha256 text, detail jsonb)`,
    [JSON.stringify(entries)],
  );
  await tx.query("delete from replication_history where id <= (select max(id) - $1 from replication_history)", [KEPT]);
  for (const { kind, node, sha256, detail } of entries.slice(0, MOST_EVENTS))
    await appendEvent(tx, "depots", { kind: "replication", what: kind, node, sha256, ...detail });
}
/** Of one change; a page that hears of so many reads everything again anyway. */
const MOST_EVENTS = 50;

/** The newest first, those before `before` only. */
export async function readHistory(
  db: Db,
  of: { sha256?: string; node?: string; before?: bigint | undefined; limit: number },
): Promise<(HistoryEntry & { id: bigint })[]> {
  const { rows } = await db.query<HistoryEntry & { id: bigint }>(
    `select id, at, kind, node_id as node, encode(sha256, 'hex') as sha256, detail from replication_history
     where ($1::text is null or sha256 = decode($1, 'hex')) and ($2::text is null or node_id = $2)
       and ($3::bigint is null or id < $3) order by id desc limit $4`,
    [of.sha256 ?? null, of.node ?? null, of.before ?? null, of.limit],
  );
  return rows;
}

/**
 * Counts per digest. A copy is whole on a node when it is on as many disks as are well there; a disk that failed is the
 * node's trouble, and shown there.
 */
const COUNTS = `
  with nodes as materialized (
    select node_id, state, answered_at is not null and error is null as answers,
      greatest(1, (select count(*) from jsonb_array_elements(disks) d where d->>'state' = 'ok'))::int as of
    from depots where state <> 'removed'),
  digests as materialized (
    select distinct sha256 from artifacts where wanted and ($1::text[] is null or encode(sha256, 'hex') = any($1))),
  held as materialized (
    select c.sha256, count(*) filter (where n.answers)::int as have,
      count(*) filter (where n.answers and n.state = 'active' and c.disks >= n.of)::int as whole,
      count(*) filter (where not n.answers)::int as silent
    from copies c join nodes n using (node_id) where c.disks > 0 and c.sha256 in (select sha256 from digests)
    group by c.sha256),
  coming as materialized (
    select k.sha256, count(*)::int as pending from replication_work k join replication_executions x on x.id = k.execution
    where x.state = 'running' and k.state = 'pending' group by k.sha256)
  select encode(w.sha256, 'hex') as sha256, coalesce(h.have, 0) as have,
    (select count(*) from nodes where answers and state = 'active')::int - coalesce(h.whole, 0) as lacking,
    coalesce(h.silent, 0) as silent, coalesce(m.pending, 0) as pending,
    (select count(*)::int from staging s where s.sha256 = w.sha256) as staged
  from digests w left join held h using (sha256) left join coming m using (sha256) order by w.sha256`;

/** Of wanted digests: all, or those named. */
export async function copyCounts(db: Db, only?: readonly string[]): Promise<Map<string, CopyCounts>> {
  const { rows } = await db.query<CopyCounts & { sha256: string }>(COUNTS, [only ?? null]);
  return new Map(rows.map(({ sha256, ...counts }) => [sha256, counts]));
}

/**
 * Compares what every wanted artifact is called now with what was said last; changes are written, told, and said from now
 * on. Call it inside a transaction, after anything that changes copies. How many changed.
 */
export async function noteWords(tx: Db, minCopies: number, now: Date): Promise<number> {
  // one at a time: two executions, or an execution and a person, would tell the same change twice
  await tx.query("select pg_advisory_xact_lock($1)", [LOCK]);
  const counts = await copyCounts(tx);
  const said = await tx.query<{ sha256: string; word: ReplicationWord; told: boolean }>(
    "select encode(sha256, 'hex') as sha256, word, told from replication_words",
  );
  const before = new Map(said.rows.map(({ sha256, ...row }) => [sha256, row]));
  const changes = Array.from(counts, ([sha256, it]): Change => ({
    sha256,
    it,
    from: before.get(sha256)?.word,
    to: replicationWord(true, { ...it, pending: 0 }, minCopies),
    told: before.get(sha256)?.told ?? false,
  })).filter(({ from, to }) => from !== to);
  await tx.query("delete from replication_words where not encode(sha256, 'hex') = any($1)", [[...counts.keys()]]);
  if (changes.length === 0) return 0;
  const rows = changes.map(({ sha256, from, to, told }) => ({ sha256, to, told: toldAfter(from, to, told) }));
  await tx.query(
    `insert into replication_words (sha256, word, since, told)
     select decode(w.sha256, 'hex'), w.to, $2, w.told
     from jsonb_to_recordset($1::jsonb) as w (sha256 text, "to" text, told boolean)
     on conflict (sha256) do update set word = excluded.word, since = excluded.since, told = excluded.told`,
    [JSON.stringify(rows), now],
  );
  await tell(tx, changes, minCopies, now);
  return changes.length;
}
const LOCK = 7_319_046;

type Change = {
  sha256: string;
  it: CopyCounts;
  from: ReplicationWord | undefined;
  to: ReplicationWord;
  /** Somebody knows that it was bad. */
  told: boolean;
};
const toldAfter = (from: ReplicationWord | undefined, to: ReplicationWord, told: boolean): boolean =>
  to !== "replicated" && (told || whatHappened(from, to)?.tell === true);

async function tell(tx: Db, changes: readonly Change[], minCopies: number, now: Date): Promise<void> {
  const named = await releasesOf(
    tx,
    changes.map(({ sha256 }) => sha256),
  );
  const entries: HistoryEntry[] = [];
  const told = new Map<Happened, HistoryEntry[]>();
  for (const { sha256, it, from, to, told: knows } of changes) {
    const happened = whatHappened(from, to);
    if (happened === undefined) continue;
    const detail = { artifacts: named.get(sha256) ?? [], copies: it.have, minCopies, before: from ?? null };
    const entry: HistoryEntry = { kind: happened.kind, at: now, node: null, sha256, detail };
    entries.push(entry);
    if (happened.tell || (happened.kind === "healed" && knows))
      told.set(happened.kind, [...(told.get(happened.kind) ?? []), entry]);
  }
  await noteHistory(tx, entries);
  for (const [kind, some] of told) await notifyOf(tx, kind, some, now);
}

/** One for all artifacts that changed together: a depot that dies is one occasion, not thousands. */
async function notifyOf(tx: Db, kind: Happened, entries: readonly HistoryEntry[], at: Date): Promise<void> {
  const artifacts = entries.flatMap(({ detail }) => detail["artifacts"] as string[]);
  await noteNotification(tx, {
    key: `artifact_${kind}:${entries[0]?.sha256 ?? ""}:${at.toISOString()}`,
    kind: `artifact_${kind}`,
    at,
    data: {
      count: entries.length,
      artifacts: artifacts.slice(0, NAMED),
      sha256: entries.slice(0, NAMED).map((it) => it.sha256),
    },
  });
}
const NAMED = 20;

/** What a node found on its disks since it was read last: into the history, and somebody is told of wrong bytes. */
export async function noteFindings(tx: Db, node: string, found: NonNullable<NodeStatus["findings"]>): Promise<void> {
  const { rows } = await tx.query<{ read: { life: string; count: number } | null }>(
    `select findings_read as read from depots where node_id = $1 and state <> 'removed' for update`,
    [node],
  );
  if (rows[0] === undefined) return;
  const { read } = rows[0];
  const known = read?.life === found.life ? read.count : 0;
  if (known >= found.count) return;
  await tx.query("update depots set findings_read = $2 where node_id = $1", [
    node,
    JSON.stringify({ life: found.life, count: found.count }),
  ]);
  const fresh = found.recent.filter(({ n }) => n > known);
  const entries = fresh.map(({ kind, at, sha256, disk }) => ({
    kind,
    at: new Date(at),
    node,
    sha256,
    detail: { disk },
  }));
  await noteHistory(tx, entries);
  const corrupt = fresh.filter(({ kind }) => kind === "corrupt");
  if (corrupt.length === 0) return;
  const named = await releasesOf(
    tx,
    corrupt.map(({ sha256 }) => sha256),
  );
  await noteNotification(tx, {
    key: `copy_corrupt:${node}:${found.life}:${found.count}`,
    kind: "copy_corrupt",
    at: new Date(corrupt.at(-1)?.at ?? 0),
    data: {
      node,
      count: corrupt.length,
      artifacts: [...new Set(corrupt.flatMap(({ sha256 }) => named.get(sha256) ?? []))].slice(0, NAMED),
      disks: [...new Set(corrupt.map(({ disk }) => disk))],
    },
  });
}

/** By digest: `otelcol 0.162.0 linux_amd64` of each wanted artifact with these bytes. */
export async function releasesOf(db: Db, digests: readonly string[]): Promise<Map<string, string[]>> {
  const { rows } = await db.query<{ sha256: string; names: string[] }>(
    `select encode(sha256, 'hex') as sha256,
       array_agg(distribution || ' ' || version || ' ' || os || '_' || arch order by distribution, version, os, arch) as names
     from artifacts where sha256 = any(select decode(h, 'hex') from unnest($1::text[]) h) group by sha256`,
    [digests],
  );
  return new Map(rows.map(({ sha256, names }) => [sha256, names]));
}
