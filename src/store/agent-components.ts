/** Which components the builds of collectors have: one row for each build and credential, whoever of its agents told first. */
import type { Db } from "./database.ts";

export type ComponentSet = { credential: string; hash: Buffer; components: unknown; names: readonly string[] };

/** Builds are few. An agent that makes up hashes fills no disk: beyond this many of a credential none is kept. */
const MAX_SETS = 1_000;

/** Keeps these; a set that is known already stays as it is. */
export async function putComponentSet(db: Db, it: ComponentSet, now: Date): Promise<void> {
  await db.query(
    `insert into component_sets (credential, hash, components, names, seen_at)
     select $1, $2, $3, $4, $5 where (select count(*) from component_sets where credential = $1) < $6
     on conflict do nothing`,
    [it.credential, it.hash, JSON.stringify(it.components), it.names, now, MAX_SETS],
  );
}

export type SetKey = { credential: string; hash: Buffer };

/** Of these, the ones that are not kept yet. */
export async function unknownComponentSets(db: Db, keys: readonly SetKey[]): Promise<SetKey[]> {
  if (keys.length === 0) return [];
  const { rows } = await db.query<SetKey>(
    `select k.credential, k.hash from unnest($1::text[], $2::bytea[]) as k(credential, hash)
       left join component_sets s using (credential, hash) where s.hash is null`,
    [keys.map((key) => key.credential), keys.map((key) => key.hash)],
  );
  return rows;
}

/** A configuration and the build that should run it; hashes in hexadecimal. */
export type Pairing = { config: string; credential: string; components: string };
export const pairingKey = ({ config, credential, components }: Pairing): string =>
  `${config} ${components} ${credential}`;

/** Components that the build does not have, for the pairings where some are missing. */
export async function readMissing(db: Db, pairings: readonly Pairing[]): Promise<Map<string, string[]>> {
  const distinct = [...new Map(pairings.map((one) => [pairingKey(one), one])).values()];
  if (distinct.length === 0) return new Map();
  const { rows } = await db.query<Pairing & { missing: string[] }>(
    `select * from (select p.config, p.credential, p.components,
         missing_components(decode(p.config, 'hex'), p.credential, decode(p.components, 'hex')) as missing
       from unnest($1::text[], $2::text[], $3::text[]) as p(config, credential, components)) m
     where cardinality(missing) > 0`,
    [distinct.map((it) => it.config), distinct.map((it) => it.credential), distinct.map((it) => it.components)],
  );
  return new Map(rows.map(({ missing, ...pairing }) => [pairingKey(pairing), missing]));
}

/** Names of the components of these builds, by `pairingKey` without the configuration. */
export async function readComponentNames(
  db: Db,
  builds: readonly Omit<Pairing, "config">[],
): Promise<Map<string, Set<string>>> {
  const distinct = [...new Map(builds.map((one) => [buildKey(one), one])).values()];
  if (distinct.length === 0) return new Map();
  const { rows } = await db.query<{ credential: string; components: string; names: string[] }>(
    `select s.credential, encode(s.hash, 'hex') as components, s.names from component_sets s
       join unnest($1::text[], $2::text[]) as b(credential, hash) on s.credential = b.credential and s.hash = decode(b.hash, 'hex')`,
    [distinct.map((it) => it.credential), distinct.map((it) => it.components)],
  );
  return new Map(rows.map((row) => [buildKey(row), new Set(row.names)]));
}

export const buildKey = ({ credential, components }: Omit<Pairing, "config">): string => `${components} ${credential}`;
