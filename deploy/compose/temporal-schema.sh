#!/bin/sh
# Brings both Temporal schemas up to this release. Can be run again: an existing schema is only updated.
set -eu
export SQL_PASSWORD="$(cat /run/secrets/postgres_password)"
for name in temporal visibility; do
  if [ "$name" = temporal ]; then db=temporal; dir=/etc/temporal/schema/postgresql/v12/temporal/versioned
  else db=temporal_visibility; dir=/etc/temporal/schema/postgresql/v12/visibility/versioned; fi
  tool() { temporal-sql-tool --plugin postgres12 --ep "$POSTGRES_SEEDS" -u "$POSTGRES_USER" --db "$db" "$@"; }
  if ! tool update-schema -d "$dir"; then
    tool create
    tool setup-schema -v 0.0
    tool update-schema -d "$dir"
  fi
done
