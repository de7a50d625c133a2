/**
 * Who needs a release (design/artifacts, "Replication", retention): as long as anybody does it is neither deleted nor
 * removed by age. One query for both, so that they cannot differ. Version choices join here with their own table.
 */
import type { Db } from "./database.ts";
import type { ReleaseName } from "./releases.ts";

export const USER_KINDS = ["snapshot", "fleet", "rollout", "offer", "wanted", "installed", "before", "pin"] as const;
/**
 * `snapshot`: a fleet of the snapshot in force names it. `fleet`: its last proven version, which hosts that come later
 * get. `rollout`: an open rollout brings it, or may return to it. `offer`: it is being offered. `wanted`: hosts should
 * have it. `installed`: hosts run it. `before`: hosts ran it before, and may go back. `pin`: a person keeps it.
 */
export type UserKind = (typeof USER_KINDS)[number];
/** `what` is for people: a fleet, `FLEET/N`, host names, who pinned it and why. */
export type ReleaseUser = { kind: UserKind; what: string };

/** Who needs this release now; empty: nobody. */
export async function usersOf(db: Db, release: ReleaseName): Promise<ReleaseUser[]> {
  return (await read(db, release)).map(({ kind, what }) => ({ kind, what }));
}

/** Who needs which release, by `releaseKey`. What is not in it nobody needs. */
export async function usersOfAll(db: Db): Promise<Map<string, ReleaseUser[]>> {
  const users = new Map<string, ReleaseUser[]>();
  for (const { kind, what, ...release } of await read(db, null)) {
    const key = releaseKey(release);
    users.set(key, [...(users.get(key) ?? []), { kind, what }]);
  }
  return users;
}

export const releaseKey = ({ distribution, version }: ReleaseName): string => `${distribution} ${version}`;

/** Hosts are named up to here, and counted beyond. */
const NAMED = 5;

async function read(db: Db, only: ReleaseName | null): Promise<(ReleaseName & ReleaseUser)[]> {
  const { rows } = await db.query<ReleaseName & ReleaseUser>(
    `with used as (
       ${IN_GIT} union all ${IN_ROLLOUTS} union all ${AT_HOSTS} union all ${PINNED}
     ), numbered as (
       select *, row_number() over (partition by distribution, version, kind order by what) as n,
         count(*) over (partition by distribution, version, kind)::int as of
       from (select distinct distribution, version, kind, what from used where version <> '') u
       where $1::text is null or (distribution = $1 and version = $2))
     select distribution, version, kind,
       string_agg(what, ', ' order by n) filter (where n <= $3)
         || case when max(of) > $3 then ' and ' || (max(of) - $3) || ' more' else '' end as what
     from numbered group by distribution, version, kind order by distribution, version, array_position($4::text[], kind)`,
    [only?.distribution ?? null, only?.version ?? null, NAMED, USER_KINDS],
  );
  return rows;
}

const IN_GIT = `
  select o->'spec'->'version'->>'distribution' as distribution,
      coalesce(o->'spec'->'version'->>'target', o->'spec'->'version'->'choice'->>'default', '') as version,
      'snapshot' as kind, 'fleet ' || (o->>'name') as what
    from gitops_state g join snapshots s on s.commit = g.applied_commit cross join jsonb_array_elements(s.objects) o
    where o->>'kind' = 'Fleet' and o->'spec'->'version' is not null
  union all
  select r.distribution, f.proven_version, 'fleet', 'fleet ' || f.name
    from fleets f join rollouts r on r.fleet = f.name and r.version = f.proven_version
    where exists (select from gitops_state g join snapshots s on s.commit = g.applied_commit
      where s.objects @> jsonb_build_array(jsonb_build_object('kind', 'Fleet', 'name', f.name)))`;

const IN_ROLLOUTS = `
  select distribution, coalesce(version, ''), 'rollout', fleet || '/' || n from rollouts where finished_at is null
  union all
  select c.service_name, v.version, 'rollout', t.fleet || '/' || t.n
    from rollouts r join targets t using (fleet, n) join agents c on c.uid = t.host
      cross join lateral (values (t.from_version), (t.to_version)) v (version)
    where r.finished_at is null and t.to_version is not null and v.version is not null
  union all
  select a.distribution, a.version, 'offer', coalesce(nullif(c.host_name, ''), o.host::text)
    from offers o join artifacts a on a.id = o.artifact left join agents c on c.uid = o.host where o.closed_at is null`;

const AT_HOSTS = `
  select w.distribution, w.version, 'wanted', coalesce('fleet ' || w.fleet, nullif(c.host_name, ''), c.uid::text)
    from wanted w join agents c on c.uid = w.host where w.distribution is not null and w.version is not null
  union all
  select service_name, version, 'installed', coalesce(nullif(host_name, ''), uid::text) from agents where kind = 'collector'
  union all
  select c.service_name, l.version, 'before', coalesce(nullif(c.host_name, ''), c.uid::text)
    from agents c cross join lateral (
      select case when a.direction = 'back' then t.to_version else t.from_version end as version
        from attempts a join targets t using (fleet, n, host)
        where a.host = c.uid and a.phase = 'succeeded' and t.to_version is not null
        order by a.finished_at desc limit 1) l
    where c.kind = 'collector' and l.version is not null`;

const PINNED = `
  select distribution, version, 'pin', "by" || coalesce(': ' || nullif(reason, ''), '')
    from release_pins where until is null or until > now()`;
