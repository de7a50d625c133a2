-- Who revoked a release, and the hold that a rollout of it gets.
alter table releases add column revoked_by text;

create function revoked_hold(of_distribution text, of_version text) returns jsonb
  language sql stable as $$
    select jsonb_build_object('revoked', jsonb_build_object('at', to_char(revoked_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'by', coalesce(revoked_by, ''), 'reason', coalesce(revoked_reason, '')))
      from releases where distribution = of_distribution and version = of_version and revoked_at is not null
  $$;
