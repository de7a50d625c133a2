-- Releases come in by upload and go by deletion (design/artifacts).
-- An offer and the deletion of its artifact exclude each other: whoever comes second sees what the first did.
create function offer_keeps_artifact() returns trigger language plpgsql as $$
declare
  found_state text;
begin
  select state into found_state from artifacts where id = new.artifact for share;
  if found_state = 'removed' then
    raise exception 'artifact % was removed while an offer of it was opened', new.artifact using errcode = 'serialization_failure';
  end if;
  return new;
end $$;
create trigger offer_keeps_artifact before insert on offers for each row when (new.artifact is not null)
  execute function offer_keeps_artifact();

-- Workers by the id under which they listen, so that a dead one is known at once; and whose disk their staging is.
create table workers (
  id text primary key,
  holder text not null,                          -- their name in rows of staging, and of their queue
  staging uuid not null,                         -- of the folder: an API on the same host reads the same in it
  started_at timestamptz not null default now(),
  draining_since timestamptz,                    -- told to end; stays until what is staged is replicated
  drain_until timestamptz
);

-- Uploads that are not finished. Their bytes are staged or partly there; nothing of them is a release yet.
create table uploads (
  id text primary key,                           -- digest of what it consists of: the same folder goes on
  distribution text not null,
  version text not null,
  files jsonb not null,                          -- [{fileName, os, arch, sha256, sizeBytes, checksum, bundle, verification}]
  digests bytea[] not null,
  opened_by text not null,
  opened_at timestamptz not null,
  touched_at timestamptz not null
);
