/**
 * Hosts as rows. Each takes its open offer through the gate that the API uses (so a hold that commits first is seen), and
 * reports steps, versions and health as the API would fold them. Scripts say what a host does with an offer.
 */
import { createHash, randomUUID } from "node:crypto";
import { mayLeave } from "../../src/domain/agents/offer-gate.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import type { Step } from "../../src/domain/brand.ts";
import type { UpdateAttempt } from "../../src/domain/update/health-report.ts";
import { notify, transaction, type Pool } from "../../src/store/database.ts";
import { createListener } from "../../src/store/listen.ts";
import { lockOpenOffer, markSent, type OpenOffer } from "../../src/store/offers-delivery.ts";

export type Script =
  /** Updates and is healthy. */
  | "ok"
  /** Its own check fails: it returns to the version before. */
  | "rolls_back"
  /** Refuses before the stop. */
  | "fails"
  /** Refuses the next configuration, and takes the one after it. */
  | "fails_once"
  /** Never answers. */
  | "silent"
  /** Says that it succeeded; its collector goes on with the old version. */
  | "lies"
  /** Updated, but its collector starts again and again. */
  | "crash_loop"
  /** Reports this step and waits there. */
  | { stopsAt: Step }
  /** The API process that holds it does not look: its package offer stays unsent. */
  | "unsent";

export type RowHost = { uid: string; updater: string; name: string; script: Script; version: string };
export type RowHosts = {
  list: RowHost[];
  add(
    name: string,
    version?: string,
    options?: { updater?: boolean; connected?: boolean; attributes?: Record<string, string>; serviceName?: string },
  ): Promise<RowHost>;
  find(name: string): RowHost;
  script(name: string, script: Script): void;
  /** Goes on with whatever offer is open, after a script changed. */
  kick(name: string): Promise<void>;
  /** Forgets all hosts; the next ones carry the label of this fleet. */
  reset(fleet: string): Promise<void>;
  set(name: string, columns: Record<string, unknown>): Promise<void>;
  /** Every package offer that left, in order. */
  sent: { host: string; kind: string; direction: string; version: string | null; at: number }[];
  /** Most targets in flight at once that any sample has seen. */
  versions(): Promise<Record<string, number>>;
  close(): Promise<void>;
};

const sha = (text: string): Buffer => createHash("sha256").update(text).digest();

export async function createRowHosts(url: string, pool: Pool): Promise<RowHosts> {
  const listener = await createListener({ url, channels: [CHANNELS.offers], onError: () => undefined });
  const list: RowHost[] = [];
  const sent: RowHosts["sent"] = [];
  const working = new Set<Promise<unknown>>();
  const starts = new Map<string, string>();
  let closed = false;
  let fleet = "";
  const byRecipient = (uid: string): RowHost | undefined =>
    list.find((host) => host.updater === uid || host.uid === uid);
  const track = (work: Promise<unknown>): void => {
    const tracked = work
      .catch((error: unknown) => {
        if (!closed) throw error;
      })
      .finally(() => working.delete(tracked));
    working.add(tracked);
  };
  listener.on(CHANNELS.offers, (payload) => {
    const host = payload === undefined ? undefined : byRecipient(payload);
    if (host !== undefined && payload !== undefined && !closed) track(deliver(host, payload));
  });

  /** What the API does: the row of the rollout locked, the gate asked, `sent_at` set; then the host has it. */
  async function deliver(host: RowHost, recipient: string): Promise<void> {
    if (host.script === "unsent" && recipient === host.updater) return;
    const offer = await transaction(pool, async (tx) => {
      const found = await lockOpenOffer(tx, recipient);
      if (found === undefined) return undefined;
      const { direction, holds, ending, sentAt } = found;
      if (!mayLeave({ direction, holds, ending: ending !== null, sentBefore: sentAt !== null })) return undefined;
      if (sentAt !== null) return undefined;
      return (await markSent(tx, found.id, new Date(), true)) ? found : undefined;
    });
    if (offer === undefined) return;
    sent.push({
      host: host.name,
      kind: offer.kind,
      direction: offer.direction,
      version: offer.version,
      at: Date.now(),
    });
    await take(host, offer);
  }

  const take = (host: RowHost, offer: OpenOffer): Promise<void> =>
    offer.kind === "config" ? takeConfig(host, offer) : takePackage(host, offer);

  async function write(uid: string, columns: Record<string, unknown>): Promise<void> {
    const names = Object.keys(columns);
    await pool.query(
      `update agents set ${names.map((name, i) => `${name} = $${i + 2}`).join(", ")}, last_seen_at = now(), changed_at = now() where uid = $1`,
      [uid, ...Object.values(columns)],
    );
    await notify(pool, CHANNELS.agents);
  }

  async function takeConfig(host: RowHost, offer: OpenOffer): Promise<void> {
    const { script } = host;
    if (script === "silent") return;
    if (script === "fails_once") host.script = "ok";
    await write(host.uid, {
      remote_config_hash: offer.configHash,
      remote_config_status: script === "fails" || script === "fails_once" ? 3 : 1,
    });
  }

  async function takePackage(host: RowHost, offer: OpenOffer): Promise<void> {
    const version = offer.version ?? "";
    const { script } = host;
    if (script === "silent") return;
    const status = {
      allPackagesHash: offer.packagesHash?.toString("hex"),
      version,
      offeredVersion: version,
      error: "",
      percent: null,
    };
    if (version === host.version) {
      await write(host.updater, { package_status: JSON.stringify({ ...status, status: "installed" }) });
      return;
    }
    // A host that goes on with the same offer goes on with the same attempt.
    const startNanos = starts.get(offer.id) ?? (BigInt(Date.now()) * 1_000_000n).toString();
    starts.set(offer.id, startNanos);
    const report = (state: UpdateAttempt["status"], error = ""): UpdateAttempt => ({
      version,
      from: host.version,
      status: state,
      healthy: true,
      error,
      startNanos,
      statusNanos: startNanos,
      steps: [{ step: "downloading", status: "done", startNanos, statusNanos: startNanos, error: "" }],
    });
    const say = (state: UpdateAttempt["status"], error = ""): Promise<void> =>
      write(host.updater, { update_attempt: JSON.stringify(report(state, error)) });
    if (typeof script === "object") {
      await say(script.stopsAt);
      return;
    }
    await say("downloading");
    if (script === "fails") {
      await say("failed", "verification: the digest differs");
      return;
    }
    await say("health_check");
    if (script === "rolls_back") {
      await say("rolled_back", `update to v${version} failed: health: 503; rolled back to v${host.version}`);
      return;
    }
    if (script !== "lies") {
      host.version = version;
      await startCollector(host);
    }
    await say("succeeded");
    if (script === "crash_loop") track(crashLoop(host));
  }

  const startCollector = (host: RowHost): Promise<void> =>
    write(host.uid, {
      version: host.version,
      healthy: true,
      healthy_since: new Date(),
      start_time_nanos: (BigInt(Date.now()) * 1_000_000n).toString(),
    });

  async function crashLoop(host: RowHost): Promise<void> {
    while (!closed && host.script === "crash_loop") {
      await startCollector(host);
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  }

  const insert = `insert into agents (uid, kind, kind_reason, credential, host_name, service_name, version, os, arch,
     attributes, capabilities, connected, healthy, healthy_since, collector_uid, link)
     values ($1, $2, 'test', 'token:t', $3, $4, $5, 'linux', 'amd64', $6, $7, $8, true, now(), $9, $10)`;
  const find = (name: string): RowHost => {
    const host = list.find((one) => one.name === name);
    if (host === undefined) throw new Error(`no host ${name}`);
    return host;
  };
  return {
    list,
    sent,
    find,
    add: async (name, version = "0.160.0", options = {}) => {
      const { updater = true, connected = true, attributes = {}, serviceName = "otelcol-contrib" } = options;
      const host: RowHost = { uid: randomUUID(), updater: randomUUID(), name, script: "ok", version };
      list.push(host);
      await pool.query(insert, [
        host.uid,
        "collector",
        name,
        serviceName,
        version,
        JSON.stringify({ test: fleet, ...attributes }),
        0x2 | 0x1,
        connected,
        null,
        "none",
      ]);
      if (updater)
        await pool.query(insert, [
          host.updater,
          "updater",
          name,
          "myriarch-updater",
          "",
          "{}",
          0x2819,
          connected,
          host.uid,
          "linked",
        ]);
      await notify(pool, CHANNELS.agents);
      return host;
    },
    script(name, script) {
      find(name).script = script;
    },
    async kick(name) {
      const host = find(name);
      for (const recipient of [host.updater, host.uid]) {
        const offer = await lockOpenOffer(pool, recipient);
        // It has the offer already: no gate stands between.
        if (offer !== undefined && offer.sentAt !== null) await take(host, offer);
      }
    },
    set: (name, columns) => write(find(name).uid, columns),
    reset: async (next) => {
      for (const host of list) host.script = "silent";
      await Promise.allSettled(working);
      await pool.query("delete from agents");
      list.length = 0;
      sent.length = 0;
      fleet = next;
    },
    versions: async () => {
      const { rows } = await pool.query<{ version: string; count: number }>(
        "select version, count(*)::int as count from agents where kind = 'collector' group by 1",
      );
      return Object.fromEntries(rows.map((row) => [row.version, row.count]));
    },
    close: async () => {
      closed = true;
      await Promise.allSettled(working);
      await listener.close();
    },
  };
}

/** A verified and replicated artifact, as `artifact-fetch` and the depots leave it. */
export async function putArtifact(pool: Pool, version: string): Promise<void> {
  const digest = sha(version);
  await pool.query(
    "insert into releases (distribution, version) values ('otelcol-contrib', $1) on conflict do nothing",
    [version],
  );
  await pool.query(
    `insert into artifacts (distribution, version, os, arch, file_name, sha256, size_bytes, bundle, checksum, source_url, state, wanted)
     values ('otelcol-contrib', $1, 'linux', 'amd64', $2, $3, 1, '{}', 'c', 'file:///test', 'verified', true)`,
    [version, `otelcol-contrib_${version}_linux_amd64.tar.gz`, digest],
  );
  for (const node of ["d1", "d2", "d3"]) {
    await pool.query(
      `insert into depots (node_id, control_url, read_url, answered_at) values ($1, 'http://x', 'http://x', now())
       on conflict (node_id) do nothing`,
      [node],
    );
    await pool.query("insert into copies (node_id, sha256, disks) values ($1, $2, 2) on conflict do nothing", [
      node,
      digest,
    ]);
  }
}
