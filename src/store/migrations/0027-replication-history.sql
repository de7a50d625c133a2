-- What became of copies and nodes, for whoever asks later: a bounded number of rows, the oldest go (store/replication-history).
create table replication_history (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  kind text not null check (kind in ('degraded', 'partial', 'lost', 'unreachable', 'replicated', 'healed', 'corrupt',
    'missing', 'unreadable', 'repaired', 'silent', 'answering', 'draining', 'undrained', 'removed', 'deleted')),
  node_id text,                                           -- null: of an artifact as a whole
  sha256 bytea,                                           -- null: of a node as a whole
  detail jsonb not null default '{}'
);
create index replication_history_by_digest on replication_history (sha256, id) where sha256 is not null;
create index replication_history_by_node on replication_history (node_id, id) where node_id is not null;
-- the word that was last said of each wanted artifact, so that a change is told once
create table replication_words (
  sha256 bytea primary key,
  word text not null,
  since timestamptz not null,
  told boolean not null default false                     -- somebody was told that it is bad, and not yet that it is well
);
-- what nodes must not drop by a mistake, and what was dropped on purpose; null: an execution of an earlier version
alter table replication_executions add column held text[];
alter table replication_executions add column released text[];
-- who has a digest is asked as often as what a node has
create index copies_by_digest on copies (sha256);
-- what a node found on its disks: how far its list of findings was read, and of which of its lives
alter table depots add column findings_read jsonb;
-- since when, by whom and why it drains
alter table depots add column drain jsonb;
