-- Events are read in the order of their transactions: identities are handed out before the commit, so a reader that went
-- by id alone would pass over a row whose transaction ended later. Rows of transactions below the snapshot's xmin are final.
alter table events add column tx xid8 not null default pg_current_xact_id();
create index events_in_order on events (tx, id);
create index events_by_age on events (at);

-- Pages follow the state of Git like everything else, whoever writes it.
create function tell_gitops_change() returns trigger language plpgsql as $$
begin
  insert into events (topic, data) values ('gitops',
    jsonb_build_object('state', new.state, 'seenCommit', new.seen_commit, 'appliedCommit', new.applied_commit));
  perform pg_notify('myr_events', '');
  return null;
end $$;
create trigger gitops_state_told after update on gitops_state for each row
  when (old.state is distinct from new.state or old.applied_commit is distinct from new.applied_commit
     or old.seen_commit is distinct from new.seen_commit or old.error_message is distinct from new.error_message)
  execute function tell_gitops_change();

create index sessions_by_expiry on sessions (expires_at);
-- A session that an API token opened ends with the token.
alter table sessions add column token uuid references api_tokens;
