-- Declared successors of enrollment tokens: agents of the older one may come with the newer one and keep their UIDs.
alter table enrollment_tokens add column successor_of uuid references enrollment_tokens;

-- Client certificates that are refused although the authority signed them. A subject is the whole credential: cert:<subject>.
create table denied_certificates (
  subject text primary key,
  reason text not null,
  denied_by text not null,
  denied_at timestamptz not null default now()
);

-- Whoever is away, the longest away first: what agents.forgetAfter looks at.
create index agents_away on agents (last_seen_at) where not connected;
