/** What pages and myrctl show of depots: how much each has, what runs now, who lacks what. Each a bounded query. */
import type { MissingCopy } from "../domain/depot/explain-node.ts";
import type { Db } from "./database.ts";
import { releasesOf } from "./replication-history.ts";

/** Wanted digests with their size, and each node with the number of its disks that are well. */
const WANTED = `
  w as materialized (select sha256, min(size_bytes)::float8 as bytes from artifacts where wanted group by sha256),
  nodes as materialized (select node_id, state, answered_at is not null and error is null as answers,
      greatest(1, (select count(*) from jsonb_array_elements(disks) d where d->>'state' = 'ok'))::int as of
    from depots where state <> 'removed')`;

export type Stock = {
  node: string;
  have: number;
  whole: number;
  want: number;
  wantBytes: number;
  missingBytes: number;
  /** Of the wanted set. */
  releases: number;
};

/** Per node: wanted artifacts that it has at all, and on every disk that is well; bytes that each of its disks still gets. */
export async function stocks(db: Db): Promise<Map<string, Stock>> {
  const { rows } = await db.query<Stock>(
    `with ${WANTED}
     select n.node_id as node, count(w.sha256) filter (where c.disks > 0)::int as have,
       count(w.sha256) filter (where c.disks >= n.of)::int as whole, count(w.sha256)::int as want,
       coalesce(sum(w.bytes), 0)::float8 as "wantBytes",
       (select count(distinct (distribution, version))::int from artifacts where wanted) as releases,
       coalesce(sum(w.bytes) filter (where coalesce(c.disks, 0) < n.of), 0)::float8 as "missingBytes"
     from nodes n left join w on true left join copies c on c.node_id = n.node_id and c.sha256 = w.sha256
     group by n.node_id`,
  );
  return new Map(rows.map((row) => [row.node, row]));
}

export type Running = {
  id: string;
  cause: string;
  startedAt: Date;
  transfers: { pending: number; done: number; failed: number };
  retries: number;
  bytes: { moved: number; all: number };
  lastError: { node: string; message: string } | null;
  nodes: { node: string; pending: number; failed: number; leftBytes: number }[];
};

/** What the running execution has to do and did; undefined while none runs that has work. */
export async function runningTransfers(db: Db): Promise<Running | undefined> {
  const { rows } = await db.query<Running>(
    `with x as (select * from replication_executions where state = 'running' order by started_at desc limit 1),
     k as (select r.*, coalesce(a.bytes, 0) as size from x join replication_work r on r.execution = x.id
       left join (select sha256, min(size_bytes)::float8 as bytes from artifacts group by sha256) a using (sha256)),
     per as (select node_id, count(*) filter (where state = 'pending')::int as pending,
         count(*) filter (where state = 'failed')::int as failed,
         coalesce(sum(size) filter (where state = 'pending'), 0)::float8 as left from k group by node_id)
     select x.id, x.cause, x.started_at as "startedAt",
       (select jsonb_build_object('pending', count(*) filter (where state = 'pending'),
         'done', count(*) filter (where state = 'done'), 'failed', count(*) filter (where state = 'failed')) from k) as transfers,
       (select coalesce(sum(greatest(tries - 1, 0)), 0)::int from k) as retries,
       (select jsonb_build_object('moved', coalesce(sum(bytes), 0), 'all', coalesce(sum(size), 0)) from k) as bytes,
       (select jsonb_build_object('node', node_id, 'message', error_message) from k where state = 'failed'
         order by node_id, sha256 limit 1) as "lastError",
       (select coalesce(jsonb_agg(jsonb_build_object('node', node_id, 'pending', pending, 'failed', failed,
         'leftBytes', "left") order by node_id), '[]') from per) as nodes
     from x where exists (select from k)`,
  );
  return rows[0];
}

/** What a node lacks of the wanted set, at most `limit`, with who else has it and what the newest execution did about it. */
export async function missingOn(
  db: Db,
  nodeId: string,
  limit: number,
): Promise<{ lacks: number; missing: MissingCopy[] }> {
  const { rows } = await db.query<Omit<MissingCopy, "names"> & { lacks: number }>(
    `with ${WANTED}, x as (select id from replication_executions order by started_at desc limit 1)
     select encode(w.sha256, 'hex') as sha256, w.bytes, coalesce(c.disks, 0) as disks, count(*) over ()::int as lacks,
       (select count(*)::int from copies o join nodes m on m.node_id = o.node_id
         where o.sha256 = w.sha256 and o.disks > 0 and m.answers and m.node_id <> n.node_id) as elsewhere,
       (select count(*)::int from staging s where s.sha256 = w.sha256) as staged,
       (select jsonb_build_object('state', k.state, 'tries', k.tries, 'error', k.error_message) from replication_work k
         where k.execution = (select id from x) and k.node_id = n.node_id and k.sha256 = w.sha256) as work
     from nodes n cross join w left join copies c on c.node_id = n.node_id and c.sha256 = w.sha256
     where n.node_id = $1 and coalesce(c.disks, 0) < n.of order by w.sha256 limit $2`,
    [nodeId, limit],
  );
  const names = await releasesOf(
    db,
    rows.map(({ sha256 }) => sha256),
  );
  const missing = rows.map((row) => ({ ...row, names: names.get(row.sha256) ?? [] }));
  return { lacks: rows[0]?.lacks ?? 0, missing };
}

export type MatrixRow = {
  sha256: string;
  names: string[];
  /** One character per node, in the order of the nodes: `#` every disk that is well, `+` some, `-` none, `?` it does not answer. */
  cells: string;
};

/** Who has what, the newest artifacts first, at most `limit`. */
export async function copyMatrix(
  db: Db,
  limit: number,
): Promise<{ nodes: string[]; total: number; rows: MatrixRow[] }> {
  const { rows } = await db.query<MatrixRow & { nodes: string[]; total: number }>(
    `with ${WANTED}, shown as (
       select w.sha256, max(a.created_at) as at, count(*) over ()::int as total,
         array_agg(a.distribution || ' ' || a.version || ' ' || a.os || '_' || a.arch order by a.version, a.os, a.arch) as names
       from w join artifacts a on a.sha256 = w.sha256 and a.wanted group by w.sha256
       order by max(a.created_at) desc, w.sha256 limit $1)
     select encode(s.sha256, 'hex') as sha256, s.names, s.total,
       coalesce(array_agg(n.node_id order by n.node_id) filter (where n.node_id is not null), '{}') as nodes,
       coalesce(string_agg(case when not n.answers then '?' when coalesce(c.disks, 0) = 0 then '-'
         when c.disks < n.of then '+' else '#' end, '' order by n.node_id), '') as cells
     from shown s left join nodes n on true left join copies c on c.node_id = n.node_id and c.sha256 = s.sha256
     group by s.sha256, s.names, s.total, s.at order by s.at desc, s.sha256`,
    [limit],
  );
  return {
    nodes: rows[0]?.nodes ?? [],
    total: rows[0]?.total ?? 0,
    rows: rows.map(({ sha256, names, cells }) => ({ sha256, names, cells })),
  };
}
