-- A revision between its validation and its apply: the verdict on it, and its objects when it is valid. The worker that
-- applies may be another one than the worker that judged. Kept for the newest revision and the one in force.
create table gitops_revisions (
  commit text primary key,
  author text not null,
  subject text not null,
  judged_at timestamptz not null,
  errors int not null,
  warnings int not null,
  objects jsonb                                  -- null when the revision is invalid
);
-- what an apply changed: {added, changed, removed} with names by kind; null in snapshots of before
alter table snapshots add column change jsonb;
-- state 'error' with code 'invalid_revision' names the revision that was refused
alter table gitops_state add column rejected_commit text;
