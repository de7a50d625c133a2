/** What decides whether a host can be offered a version and a configuration, read for a plan that is only shown. */
import type { PreviewHost } from "../domain/rollout/preview.ts";
import type { Db } from "./database.ts";

type Row = Omit<PreviewHost, "updater"> & {
  uid: string;
  updater: { capabilities: string; link: "none" | "linked" | "mismatch"; linkReason: string } | null;
};

/** Of these collectors. `version`: the one that they would get. `missing` is not read: the configuration may not be stored. */
export async function readOfferFacts(
  db: Db,
  uids: readonly string[],
  version: string | null,
): Promise<Map<string, PreviewHost>> {
  const { rows } = await db.query<Row>(
    `select c.uid, c.host_name as "hostName", c.service_name as "serviceName", c.os, c.arch, c.capabilities, c.version,
        c.connected, f.state as "artifactState",
        case when u.uid is null then null else jsonb_build_object('capabilities', u.capabilities::text, 'link', u.link,
          'linkReason', u.link_reason) end as updater
       from unnest($1::uuid[]) as h(uid) join agents c on c.uid = h.uid
         left join lateral (select * from agents where collector_uid = c.uid and kind = 'updater'
           order by (link = 'linked') desc, connected desc, last_seen_at desc limit 1) u on true
         left join artifacts f on f.distribution = c.service_name and f.version = $2 and f.os = c.os and f.arch = c.arch`,
    [uids, version],
  );
  return new Map(
    rows.map(({ uid, updater, ...row }) => [
      uid,
      { ...row, updater: updater === null ? null : { ...updater, capabilities: BigInt(updater.capabilities) } },
    ]),
  );
}
