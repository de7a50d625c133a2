-- What stays although nothing runs or wants it, and since when nothing needs what may go (design/artifacts, "Retention").
create table release_pins (
  distribution text not null,
  version text not null,
  by text not null,
  reason text not null,
  at timestamptz not null,
  until timestamptz,                                      -- null: for ever
  primary key (distribution, version)
);
-- removed: it was verified once and depots keep it no longer; what it was stays known
alter table artifacts drop constraint artifacts_state_check;
alter table artifacts add constraint artifacts_state_check check (state in ('fetching', 'verified', 'failed', 'removed'));
-- since the first look that found nobody who needs it; null while somebody does, and before the first look
alter table releases add column unneeded_since timestamptz;
