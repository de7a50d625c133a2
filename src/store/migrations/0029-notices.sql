-- What a person should know until somebody acknowledges it. A row says what it is about; what it says is judged when it is
-- read. One row per kind and subject: the same is not told twice.
create table notices (
  id bigint generated always as identity primary key,
  kind text not null,                            -- permanent; domain/notices.ts
  subject text not null,                         -- '<distribution>/<version>'
  data jsonb not null,                           -- {distribution, version}
  at timestamptz not null,
  superseded_by bigint references notices,
  acknowledged_at timestamptz,
  acknowledged_by text,
  comment text,
  unique (kind, subject)
);

-- What the source of releases said when it was asked last, one row per address.
create table release_discovery (
  source text primary key,
  checked_at timestamptz not null,
  error_code text,
  error_message text,
  answered_at timestamptz,                       -- the last time without an error
  etag text,                                     -- of that answer, for a conditional request
  last_modified text,
  versions jsonb not null default '[]'           -- of that answer, the newest first
);
