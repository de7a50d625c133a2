-- What the rollout engine needs beyond the frame: the change that was planned, what a wave's share was counted over,
-- clocks of an attempt that a lost process must not lose.

alter table fleets
  add column seen_commit text,                   -- the commit that the planner compared last
  add column change_key text,                    -- the last change that a commit caused
  add column planned_key text;                   -- the change that was planned last: never planned again by itself

alter table rollouts
  add column size int not null default 0,        -- targets in play when it was planned or run again
  add column wave int,                           -- k of the wave that it is in
  add column prepared_at timestamptz;            -- its artifacts are verified and replicated

alter table waves
  add column selects boolean not null default false,  -- takes matching targets only
  add column size int,                           -- counted when it started
  add column asked_at timestamptz,               -- an approval is waited for since
  add column bake_until timestamptz;

alter table targets
  add column matches int[] not null default '{}',     -- waves whose selector it matched when it was planned
  add column joined boolean not null default false;   -- came after the plan: counts for no share

alter table attempts
  add column percent real not null default 0,    -- of the download, as reported last
  add column not_before timestamptz,             -- backoff of the host: not offered before
  add column health_from timestamptz,            -- start of the unbroken health that counts, shifted by silence
  add column silent_from timestamptz,            -- the host is silent since; the clock of the health wait stands
  add column regressed_at timestamptz;           -- became unhealthy while its wave baked
create index attempts_of_host on attempts (host);
create index offers_of_attempt on offers (fleet, n, host, attempt);
