-- The wanted set of the depots moves with its generation and its outbox row, in one transaction, whatever path changed
-- it (design/artifacts, "Replication"; depot-anchors, invariants 4 and 5): the database itself sees to it.
alter table artifact_config add column changed_in xid8;

create function artifact_set_moves() returns trigger language plpgsql as $$
declare
  before bytea := case when tg_op <> 'INSERT' and old.wanted then old.sha256 end;
  after bytea := case when tg_op <> 'DELETE' and new.wanted then new.sha256 end;
  moved bigint;
begin
  if before is not distinct from after then
    return null;
  end if;
  update artifact_config set generation = generation + 1, changed_in = pg_current_xact_id()
    where changed_in is distinct from pg_current_xact_id() returning generation into moved;
  if moved is not null then
    insert into outbox (generation, cause)
      values (moved, coalesce(nullif(current_setting('myriarch.cause', true), ''), lower(tg_op) || ' of artifacts'));
    perform pg_notify('myr_artifacts', '');
  end if;
  return null;
end $$;
create trigger artifact_set_moves after insert or update of wanted, sha256 or delete on artifacts
  for each row execute function artifact_set_moves();

-- a wanted artifact has bytes
alter table artifacts add constraint wanted_has_bytes check (not wanted or (sha256 is not null and size_bytes is not null));
-- while a fetch is retried: what went wrong last, and since when it is tried
alter table artifacts add column checksum text;           -- of the checksum file, as fetched
alter table artifacts add column tried_at timestamptz;
alter table artifacts add column verified_at timestamptz;

alter table depots add column execution text;             -- the last execution in which it answered at `generation`
alter table depots add column disks jsonb not null default '[]';  -- [{path, state, freeBytes}] as it says
alter table depots add column unanswered_since timestamptz;

-- one row per execution: what it did, kept for pages; and its work, one row per node and artifact
create table replication_executions (
  id text primary key,                                    -- the workflow id of the execution
  cause text not null,
  epoch uuid not null,
  generation bigint not null,
  state text not null default 'running' check (state in ('running', 'ended', 'stale', 'superseded')),
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  result jsonb
);
create table replication_work (
  execution text not null references replication_executions on delete cascade,
  node_id text not null,
  sha256 bytea not null,
  kind text not null check (kind in ('put', 'copy')),
  ord int not null,
  source text,                                            -- planned (put: host of the staging; copy: node)
  used_source text,                                       -- of a copy that was done
  state text not null default 'pending' check (state in ('pending', 'done', 'failed')),
  bytes bigint not null default 0,
  tries int not null default 0,
  error_code text,
  error_message text,
  primary key (execution, node_id, sha256)
);
