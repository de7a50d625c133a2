-- Why a host that is not as Git wants it is left as it is: pages and explain name it. Null: nothing keeps it from moving.
alter table wanted
  add column left_code text,
  add column left_note text not null default '';

-- The change during which a person aborted the fleet's catch-up: the same hosts are not brought there again until it is
-- another one.
alter table fleets add column catch_up_aborted_key text;
