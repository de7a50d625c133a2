-- What everything hangs on: who may act, what Git says, which agents there are, what they should have, what is offered
-- to them, and how far a rollout is. Migrations only add; a removal comes one release later (docs/adr/0006).

create table installation (
  one boolean primary key default true check (one),
  epoch uuid not null default gen_random_uuid(),
  created_at timestamptz not null default now()
);
insert into installation default values;

-- ---------------------------------------------------------------- people and credentials
create table api_tokens (
  id uuid primary key default gen_random_uuid(),
  name text not null unique,
  owner text not null,
  role text not null check (role in ('viewer', 'operator', 'admin')),
  hash bytea not null unique,                    -- SHA-256 of the token; the token itself is shown once
  created_at timestamptz not null default now(),
  created_by text not null,
  expires_at timestamptz,
  revoked_at timestamptz
);
create table enrollment_tokens (
  id uuid primary key default gen_random_uuid(),
  name text not null unique,
  hash bytea not null unique,
  labels jsonb not null default '{}',
  created_at timestamptz not null default now(),
  created_by text not null,
  expires_at timestamptz,
  revoked_at timestamptz
);
create table login_links (                       -- embedded mode: one-time link of the first admin
  hash bytea primary key,
  principal text not null,
  role text not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create table sessions (
  hash bytea primary key,
  principal text not null,
  role text not null check (role in ('viewer', 'operator', 'admin')),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create table audit (
  seq bigint generated always as identity primary key,
  at timestamptz not null default now(),
  principal text not null,                       -- token owner, session user, 'system', or 'temporal-signal'
  claimed text,                                  -- what a raw signal says of its sender
  action text not null,
  object text not null,
  outcome text not null check (outcome in ('accepted', 'refused')),
  code text,                                     -- error code of a refusal
  detail jsonb not null default '{}',
  prev_hash bytea not null,
  hash bytea not null                            -- SHA-256 over prev_hash and the canonical row
);
create table idempotency (
  key text primary key,
  principal text not null,
  action text not null,
  answer jsonb,
  at timestamptz not null default now()
);

-- ---------------------------------------------------------------- Git
create table gitops_state (
  one boolean primary key default true check (one),
  state text not null default 'never' check (state in ('never', 'ok', 'error')),
  seen_commit text,                              -- head at the last fetch
  applied_commit text,
  applied_at timestamptz,
  checked_at timestamptz,
  error_code text,
  error_message text,
  generation bigint not null default 0,          -- +1 with each applied snapshot
  delivery_at timestamptz                        -- a webhook that waits for a sync
);
insert into gitops_state default values;
create table snapshots (
  commit text primary key,
  generation bigint not null unique,
  applied_at timestamptz not null default now(),
  author text not null,
  subject text not null,
  objects jsonb not null                         -- every object with its source: what planner and pages read
);
create table gitops_issues (
  commit text not null,
  n int not null,
  issue jsonb not null,
  primary key (commit, n)
);
create table configs (                           -- rendered bytes, by hash; kept while anything refers to them
  hash bytea primary key,
  body bytea not null,
  created_at timestamptz not null default now()
);

-- ---------------------------------------------------------------- agents: what is
create table agents (
  uid uuid primary key,
  kind text not null check (kind in ('collector', 'updater', 'unknown')),
  kind_reason text not null,
  credential text not null,                      -- 'token:<enrollment token id>' or 'cert:<subject>'
  credential_labels jsonb not null default '{}',
  host_name text not null default '',
  service_name text not null default '',
  version text not null default '',              -- as semver, no leading v
  os text not null default '',
  arch text not null default '',                 -- Go's names
  attributes jsonb not null default '{}',
  capabilities bigint not null default 0,
  connected boolean not null default false,
  replica text,                                  -- which API process holds the connection
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  sequence_num numeric not null default 0,
  -- health: one statement writes all four together
  healthy boolean not null default false,
  healthy_since timestamptz,                     -- unbroken; null while unhealthy or unknown
  start_time_nanos bigint not null default 0,
  unhealthy_components text[] not null default '{}',
  health_status text not null default '',
  last_error text not null default '',
  health bytea,                                  -- raw ComponentHealth as reported
  -- remote configuration
  remote_config_hash bytea,
  remote_config_status int not null default 0,   -- RemoteConfigStatuses
  remote_config_error text not null default '',
  effective_config bytea,                        -- encrypted with secrets.keyFile
  -- updaters only
  collector_uid uuid,                            -- what the updater says it manages
  link text not null default 'none' check (link in ('none', 'linked', 'mismatch')),
  link_reason text not null default '',
  update_attempt jsonb,                          -- dev.myriarch.update, decoded (domain/update/health-report.ts)
  package_status jsonb,                          -- {allPackagesHash, status, version, offeredVersion, error, percent}
  changed_at timestamptz not null default now()
);
create index agents_by_host on agents (lower(host_name));
create index agents_by_collector on agents (collector_uid) where collector_uid is not null;
create table agent_connections (                 -- at most 20 per agent, changes only
  uid uuid not null references agents on delete cascade,
  at timestamptz not null default now(),
  event text not null,
  detail text not null default ''
);

-- what each collector should have, and why; never what is being offered
create table wanted (
  host uuid primary key references agents on delete cascade,
  fleet text,                                    -- null: unassigned, keeps what it has
  fleet_reason text not null default '',
  distribution text,
  version text,                                  -- null: the fleet manages configuration only
  config_hash bytea references configs,          -- null: does not render (render_error says why)
  render_error text,
  commit text not null,
  since timestamptz not null default now()
);

-- ---------------------------------------------------------------- rollouts
create table fleets (                            -- state of a fleet that is not Git's
  name text primary key,
  proven_version text,
  proven_commit text,
  held jsonb,                                    -- {n, wantedKey, because, at}: the change that is not planned again
  next_n int not null default 1
);
create table rollouts (
  fleet text not null,
  n int not null,
  kind text not null check (kind in ('change', 'catch_up')),
  wanted_key text not null,                      -- hash of the change: what each agent would get
  commit text not null,
  distribution text,
  version text,
  state text not null default 'preparing' check (state in ('preparing', 'waiting_window', 'waiting_approval', 'running',
    'baking', 'paused', 'rolling_back', 'succeeded', 'failed', 'aborted', 'rolled_back', 'superseded')),
  reason text not null default '',               -- one sentence: why this state
  next_what text,                                -- what happens by itself next, or whom it waits for
  next_at timestamptz,
  holds jsonb not null default '{}',             -- {operator|threshold|approval_timeout|revoked: {at, by, reason}}
  ending text check (ending in ('abort', 'supersede', 'rollback')),  -- forward offers have stopped for good
  policy jsonb not null,                         -- frozen with the plan
  approvals jsonb not null default '{}',         -- {"<wave k>": [{principal, at, reason}]}
  failures_from timestamptz not null default '-infinity',  -- resume after a threshold counts from here
  run int not null default 1,                    -- +1 when retry or rollback reopens a finished rollout
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  primary key (fleet, n)
);
create unique index one_active_rollout on rollouts (fleet)
  where kind = 'change' and state not in ('succeeded', 'failed', 'aborted', 'rolled_back', 'superseded');
create table waves (
  fleet text not null,
  n int not null,
  k int not null,                                -- 0-based
  name text not null,
  up_to jsonb,                                   -- count or share as the policy says; null: the rest
  approval text not null default 'none' check (approval in ('none', 'required', 'two_person')),
  bake_ms bigint not null default 0,
  state text not null default 'pending' check (state in ('pending', 'skipped', 'waiting_approval', 'running', 'baking',
    'ended', 'cancelled')),
  started_at timestamptz,
  finished_at timestamptz,
  primary key (fleet, n, k),
  foreign key (fleet, n) references rollouts
);
create table targets (
  fleet text not null,
  n int not null,
  host uuid not null,                            -- collector uid
  host_name text not null,
  ord int not null,                              -- frozen order of the plan
  wave int,                                      -- k, once its wave has started
  attempt int not null default 1,                -- the current one
  from_version text,
  from_config_hash bytea,
  to_version text,                               -- null: only the configuration changes
  to_config_hash bytea,                          -- null: only the version changes
  way_back text not null default 'yes',          -- 'yes', or the code that says why there is none
  unhealthy_before text[] not null default '{}',
  primary key (fleet, n, host),
  foreign key (fleet, n) references rollouts
);
create table attempts (
  fleet text not null,
  n int not null,
  host uuid not null,
  attempt int not null,
  direction text not null check (direction in ('forward', 'back')),
  wave int,
  phase text not null default 'pending' check (phase in ('pending', 'offered', 'downloading', 'verifying', 'installing',
    'restarting', 'health_check', 'rolling_back', 'applying', 'health_wait', 'succeeded', 'failed', 'rolled_back',
    'cancelled')),
  part text check (part in ('package', 'config')),  -- which offer is open, for attempts with both
  since timestamptz not null default now(),      -- of the phase
  progress_at timestamptz not null default now(),
  deadline_at timestamptz,
  offered_at timestamptz,
  host_attempt_nanos bigint,                     -- start time of the updater's attempt that this one took
  steps jsonb not null default '[]',
  failure_class text,
  code text,                                     -- error code when cancelled or failed by us
  error text not null default '',
  finished_at timestamptz,
  primary key (fleet, n, host, attempt),
  foreign key (fleet, n, host) references targets
);
create index attempts_open on attempts (fleet, n, phase) where finished_at is null;

-- the only thing that packages and configurations are sent from
create table offers (
  id uuid primary key default gen_random_uuid(),
  host uuid not null,                            -- collector uid
  recipient uuid not null,                       -- the updater for packages, the collector for configurations
  kind text not null check (kind in ('package', 'config', 'withdraw')),
  direction text not null check (direction in ('forward', 'back', 'take_back', 'withdraw')),
  fleet text not null,
  n int not null,
  attempt int,                                   -- null for a withdrawal: it belongs to no attempt
  version text,                                  -- with the leading v of the wire left out
  artifact uuid,
  config_hash bytea,
  packages_hash bytea,                           -- all-packages hash; independent of token and time
  opened_at timestamptz not null default now(),
  sent_at timestamptz,
  token_at timestamptz,                          -- when the last download token was minted
  closed_at timestamptz,
  close_reason text
);
create unique index one_open_offer on offers (host) where closed_at is null;
create index offers_by_recipient on offers (recipient) where closed_at is null;

-- ---------------------------------------------------------------- artifacts and depots
create table releases (
  distribution text not null,
  version text not null,
  revoked_at timestamptz,
  revoked_reason text,
  primary key (distribution, version)
);
create table artifacts (
  id uuid primary key default gen_random_uuid(),
  distribution text not null,
  version text not null,
  os text not null,
  arch text not null,
  file_name text not null,
  sha256 bytea,
  size_bytes bigint,
  bundle text,                                   -- raw bundle as fetched
  verification jsonb,                            -- {identity, issuer, repository, logIndex, signedAt[]}
  source_url text not null,
  state text not null default 'fetching' check (state in ('fetching', 'verified', 'failed')),
  error_code text,
  error_message text,
  wanted boolean not null default false,         -- in the artifact configuration; changes only with the generation
  created_at timestamptz not null default now(),
  unique (distribution, version, os, arch)
);
create index artifacts_by_digest on artifacts (sha256);
create table artifact_config (
  one boolean primary key default true check (one),
  generation bigint not null default 0
);
insert into artifact_config default values;
create table outbox (                            -- written with the generation, in one transaction
  generation bigint primary key,
  cause text not null,
  at timestamptz not null default now(),
  done_at timestamptz
);
create table staging (
  sha256 bytea not null,
  holder text not null,                          -- host of the worker whose disk has it
  path text not null,
  at timestamptz not null default now(),
  primary key (sha256, holder)
);
create table depots (
  node_id text primary key,
  zone text not null default '',
  control_url text not null,
  read_url text not null,
  state text not null default 'active' check (state in ('active', 'draining', 'removed')),
  answered_at timestamptz,
  error text,
  generation bigint
);
create table copies (
  node_id text not null references depots on delete cascade,
  sha256 bytea not null,
  disks int not null,
  seen_at timestamptz not null default now(),
  primary key (node_id, sha256)
);

-- ---------------------------------------------------------------- events for pages and scripts, kept ten minutes
create table events (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  topic text not null,                           -- 'rollout:<fleet>/<n>', 'agents', 'gitops', 'depots'
  data jsonb not null
);
