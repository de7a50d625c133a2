-- What the server must remember of an agent's configuration beyond its newest report: what it was sent, which one it refused,
-- which one it applied last, whether the effective one still is what was sent, and which components its build has.
alter table agents
  add column components_hash bytea,               -- of its available components, as it reports it
  add column pipelines text[],                    -- names in its health report; null: not known
  add column applied_config_hash bytea,           -- reported APPLIED last
  add column failed_config_hash bytea,            -- reported FAILED last; null again once it is sent or applied again
  add column failed_config_error text not null default '',
  add column failed_config_at timestamptz,
  add column sent_config_hash bytea,              -- left for this agent last
  add column sent_config_at timestamptz,
  add column sent_config_by text check (sent_config_by in ('offer', 'resync', 'take_back')),
  add column drift text[],                        -- paths where the effective configuration differs from `drift_of`; null: not judged
  add column drift_of bytea,
  add column drift_due boolean not null default false;
create index agents_drift_due on agents (uid) where drift_due;

-- Components of one collector build. A set counts only for agents of the credential that reported it: nobody speaks for others.
create table component_sets (
  credential text not null,
  hash bytea not null,
  components jsonb not null,                      -- the whole map as reported
  names text[] not null,                          -- `receivers/otlp`, without underscores, with the other names of renamed ones
  seen_at timestamptz not null default now(),
  primary key (credential, hash)
);

-- What a configuration asks of a collector. Null in rows of before: read from the bytes when they are rendered again.
alter table configs
  add column components text[],                   -- `receivers/otlp`, each type once
  add column pipelines text[];

-- Components that a configuration needs and a build does not have; null when one of both is not known.
create function missing_components(config bytea, of_credential text, of_hash bytea) returns text[]
  language sql stable as $$
    select array(select n from unnest(c.components) n where replace(n, '_', '') <> all (s.names) order by n)
      from configs c, component_sets s
      where c.hash = config and c.components is not null and s.credential = of_credential and s.hash = of_hash
  $$;

-- What a person asked of one agent, until the process that holds its connection has done it.
create table agent_commands (
  id uuid primary key default gen_random_uuid(),
  uid uuid not null references agents on delete cascade,
  kind text not null check (kind in ('restart', 'resync')),
  requested_by text not null,
  requested_at timestamptz not null default now(),
  answer text check (answer in ('sent', 'not_connected', 'not_supported')),
  sent_config bytea,                              -- what a resync sent
  answered_at timestamptz
);
create index agent_commands_waiting on agent_commands (uid) where answer is null;
