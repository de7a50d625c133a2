-- What people have to be told, each occasion once: written in the transaction of the change that it tells of, shown by the
-- API, sent by whatever delivers. `key` names the occasion: a second writer (another worker, a second try) adds nothing.
create table notifications (
  id bigint generated always as identity primary key,
  key text not null unique,                      -- 'invalid_revision:<commit>'
  kind text not null,
  at timestamptz not null,
  data jsonb not null,
  delivered_at timestamptz                       -- null until every configured receiver has it
);
create index notifications_undelivered on notifications (id) where delivered_at is null;
