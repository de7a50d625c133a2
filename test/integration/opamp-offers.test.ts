import { createHash, randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readDownloadToken } from "../../src/api/download-token.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import type { ServerToAgent } from "../../src/protocol/messages.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { description, eventually, health, newUid, startAgent, startOpamp } from "../support/opamp.ts";
import type { OpampSetup, TestAgent } from "../support/opamp.ts";

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();
const BUNDLE = '{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}';
const COLLECTOR = 0x7807n;
const UPDATER = 0x2819n;

let db: TestDatabase;
let opamp: OpampSetup;
let token: string;
let n = 0;
let artifact: string;
const agents: TestAgent[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  opamp = await startOpamp(db, { agentBaseUrls: ["http://inside.example.com:8080"] });
  ({ token } = await opamp.enroll("offers"));
  const { rows } = await db.pool.query<{ id: string }>(
    `insert into artifacts (distribution, version, os, arch, file_name, sha256, size_bytes, bundle, source_url, state)
     values ('otelcol-contrib', '0.162.0', 'linux', 'amd64', 'otelcol-contrib_0.162.0_linux_amd64.tar.gz', $1, 10, $2, 'x', 'verified')
     returning id`,
    [sha256("archive"), BUNDLE],
  );
  artifact = rows[0]?.id ?? "";
});
beforeEach(async () => {
  n++;
  await db.pool.query(
    `insert into rollouts (fleet, n, kind, wanted_key, commit, policy, state) values ($1, 1, 'change', 'k', 'c', '{}', 'running')`,
    [`fleet-${n}`],
  );
});
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop()));
});
afterAll(async () => {
  await opamp?.stop();
  await db?.drop();
});

function start(capabilities: bigint, name: string, uid = newUid(), endpoint = opamp.endpoint): TestAgent {
  const agent = startAgent({
    endpoint,
    token,
    uid,
    capabilities,
    state: {
      agentDescription: description(
        { "service.name": name, "service.version": "0.161.0" },
        {
          "host.name": "offers",
          "os.type": "linux",
          "host.arch": "amd64",
          "dev.myriarch.updater.server_endpoint": "ws://Inside.example.com:8080",
        },
      ),
      health: health(true),
    },
  });
  agents.push(agent);
  return agent;
}
const startUpdater = (uid?: string, endpoint?: string) => start(UPDATER, "myriarch-updater", uid, endpoint);

type Offer = Partial<{ kind: string; direction: string; artifact: string | null; configHash: Buffer; host: string }>;

/** Opens an offer as the planner does: the row and its notification in one transaction. */
async function open(recipient: string, offer: Offer = {}): Promise<string> {
  const kind = offer.kind ?? "package";
  const packaged = kind !== "config";
  const { rows } = await db.pool.query<{ id: string }>(
    `with opened as (insert into offers (host, recipient, kind, direction, fleet, n, attempt, version, artifact, config_hash, packages_hash)
       values ($1, $2, $3, $4, $5, 1, 1, $6, $7, $8, $9) returning id)
     select id, pg_notify('${CHANNELS.offers}', $2::text) from opened`,
    [
      offer.host ?? randomUUID(),
      recipient,
      kind,
      offer.direction ?? "forward",
      `fleet-${n}`,
      packaged ? "0.162.0" : null,
      offer.artifact === undefined ? (packaged ? artifact : null) : offer.artifact,
      offer.configHash ?? null,
      packaged ? sha256("set") : null,
    ],
  );
  return rows[0]?.id ?? "";
}
const hold = (holds: object, ending: string | null = null) =>
  db.pool.query("update rollouts set holds = $2, ending = $3 where fleet = $1", [
    `fleet-${n}`,
    JSON.stringify(holds),
    ending,
  ]);
const PAUSED = { operator: { at: "2026-01-01T00:00:00Z", by: "ada", reason: "" } };
const offersIn = (agent: TestAgent): ServerToAgent[] =>
  agent.received.filter((m) => m.packagesAvailable !== undefined || m.remoteConfig !== undefined);
const described = (agent: TestAgent) =>
  eventually(
    "the row",
    async () => (await db.pool.query("select 1 from agents where uid = $1", [agent.client.instanceUid])).rowCount === 1,
  );
const sentAt = async (offer: string): Promise<Date | null> =>
  (await db.pool.query<{ sent_at: Date | null }>("select sent_at from offers where id = $1", [offer])).rows[0]
    ?.sent_at ?? null;
/** Everything opened before has been looked at once an offer to the same agent that passes every gate arrived. */
async function settle(agent: TestAgent, offer: string): Promise<void> {
  await db.pool.query("update offers set closed_at = now() where id = $1", [offer]);
  const before = offersIn(agent).length;
  const probe = await open(agent.client.instanceUid, { direction: "take_back" });
  await eventually("the probe", () => offersIn(agent).length > before);
  await db.pool.query("update offers set closed_at = now() where id = $1", [probe]);
}

describe("a package offer", () => {
  it("is exactly what the contract's table says, with a token for this artifact and agent", async () => {
    const agent = startUpdater();
    await described(agent);
    const offer = await open(agent.client.instanceUid);
    const [message] = await eventually("the offer", () => offersIn(agent).length > 0 && offersIn(agent));
    const set = message?.packagesAvailable;
    expect(Array.from(set?.packages.keys() ?? [])).toEqual([""]);
    const one = set?.packages.get("");
    expect(one).toMatchObject({ type: 0, version: "v0.162.0" });
    expect(one?.file?.downloadUrl).toBe(
      `http://inside.example.com:8080/api/v1/artifacts/${artifact}/content/otelcol-contrib_0.162.0_linux_amd64.tar.gz`,
    );
    expect(Buffer.from(one?.file?.contentHash ?? [])).toEqual(sha256("archive"));
    expect(Buffer.from(one?.file?.signature ?? []).toString()).toBe(BUNDLE);
    expect(Buffer.from(set?.allPackagesHash ?? [])).toEqual(sha256("set"));
    const [header] = one?.file?.headers ?? [];
    expect(header?.key).toBe("Authorization");
    const claims = readDownloadToken([opamp.key], header?.value.replace("Bearer ", "") ?? "");
    expect(claims).toMatchObject({ artifact, agent: agent.client.instanceUid });
    expect(await sentAt(offer)).toBeInstanceOf(Date);
  });

  it("waits in its row for an agent that is away, and is sent when it connects", async () => {
    const uid = newUid();
    const offer = await open(uid);
    expect(await sentAt(offer)).toBeNull();
    const agent = startUpdater(uid);
    await eventually("the offer", () => offersIn(agent).length === 1);
  });

  it("is sent again after a reconnect, with the same hashes", async () => {
    const uid = newUid();
    const first = startUpdater(uid);
    await open(uid);
    const [before] = await eventually("the offer", () => offersIn(first).length === 1 && offersIn(first));
    await first.stop();
    const second = startUpdater(uid);
    const [after] = await eventually("the offer again", () => offersIn(second).length === 1 && offersIn(second));
    expect(after?.packagesAvailable?.allPackagesHash).toEqual(before?.packagesAvailable?.allPackagesHash);
    expect(after?.packagesAvailable?.packages.get("")?.hash).toEqual(before?.packagesAvailable?.packages.get("")?.hash);
  });

  it("is found by the sweep when its notification was lost", async () => {
    const sweeping = await startOpamp(db, { sweepMs: 100 });
    try {
      const agent = startUpdater(newUid(), sweeping.endpoint);
      await described(agent);
      await db.pool.query(
        `insert into offers (host, recipient, kind, direction, fleet, n, attempt, version, artifact, packages_hash)
         values ($1, $2, 'package', 'forward', $3, 1, 1, '0.162.0', $4, $5)`,
        [randomUUID(), agent.client.instanceUid, `fleet-${n}`, artifact, sha256("set")],
      );
      await eventually("the offer", () => offersIn(agent).length === 1);
    } finally {
      await Promise.all(agents.splice(0).map((agent) => agent.stop()));
      await sweeping.stop();
    }
  });

  it("is not sent once it is closed", async () => {
    const uid = newUid();
    const offer = await open(uid);
    await db.pool.query("update offers set closed_at = now() where id = $1", [offer]);
    const agent = startUpdater(uid);
    await described(agent);
    await settle(agent, offer);
    expect(offersIn(agent)).toHaveLength(1);
  });

  it("never goes to an agent that accepts packages under another name", async () => {
    const agent = start(UPDATER, "some-agent");
    await described(agent);
    const offer = await open(agent.client.instanceUid);
    const witness = startUpdater();
    await described(witness);
    await open(witness.client.instanceUid);
    await eventually("the witness's offer", () => offersIn(witness).length === 1);
    expect(await sentAt(offer)).toBeNull();
  });

  it("that is still open at half of the token's life is sent again with a fresh token only", async () => {
    const quick = await startOpamp(db, { downloadTokenTtlMs: 2_000 });
    try {
      const agent = startUpdater(newUid(), quick.endpoint);
      await described(agent);
      const offer = await open(agent.client.instanceUid);
      const [first] = await eventually("the offer", () => offersIn(agent).length === 1 && offersIn(agent));
      await eventually("half of its life", () => Date.now() - tokenTime(first) > 1_000);
      await db.pool.query(`select pg_notify('${CHANNELS.offers}', $1)`, [agent.client.instanceUid]);
      const [, second] = await eventually("the offer again", () => offersIn(agent).length === 2 && offersIn(agent));
      const parts = [first, second].map((m) => m?.packagesAvailable?.packages.get(""));
      expect(parts[0]?.file?.headers).not.toEqual(parts[1]?.file?.headers);
      expect({ ...parts[0], file: { ...parts[0]?.file, headers: [] } }).toEqual({
        ...parts[1],
        file: { ...parts[1]?.file, headers: [] },
      });
      expect(await sentAt(offer)).toBeInstanceOf(Date);
    } finally {
      await Promise.all(agents.splice(0).map((agent) => agent.stop()));
      await quick.stop();
    }
  });

  const tokenTime = (message: ServerToAgent | undefined): number => {
    const value = message?.packagesAvailable?.packages.get("")?.file?.headers[0]?.value ?? "";
    return readDownloadToken([opamp.key], value.replace("Bearer ", ""))?.issuedAtMs ?? 0;
  };
});

describe("holds", () => {
  it.each([
    ["a forward offer waits while an operator holds", "forward", PAUSED, null, false],
    ["a forward offer waits when the rollout is ending", "forward", {}, "abort", false],
    ["going back waits while an operator holds", "back", PAUSED, null, false],
    ["going back leaves a revoked release", "back", { revoked: PAUSED.operator }, "rollback", true],
    ["a taken-back configuration passes every hold", "take_back", PAUSED, "abort", true],
    ["a withdrawal passes every hold", "withdraw", PAUSED, "abort", true],
  ] as const)("%s", async (_, direction, holds, ending, leaves) => {
    const agent = startUpdater();
    await described(agent);
    await hold(holds, ending);
    const offer = await open(agent.client.instanceUid, {
      direction,
      kind: direction === "withdraw" ? "withdraw" : "package",
    });
    if (leaves) await eventually("the offer", () => offersIn(agent).length === 1);
    else {
      await settle(agent, offer);
      expect(await sentAt(offer)).toBeNull();
      expect(offersIn(agent)).toHaveLength(1);
    }
  });

  it("a pause between opening and sending is seen: the sender waits for the pause's lock", async () => {
    const agent = startUpdater();
    await described(agent);
    const pausing = await db.pool.connect();
    try {
      await pausing.query("begin");
      await pausing.query("update rollouts set holds = $2 where fleet = $1", [`fleet-${n}`, JSON.stringify(PAUSED)]);
      const offer = await open(agent.client.instanceUid);
      await eventually("a sender that waits", async () => {
        const { rows } = await db.pool.query(
          "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        );
        return rows.length > 0;
      });
      await pausing.query("commit");
      await settle(agent, offer);
      expect(await sentAt(offer)).toBeNull();
    } finally {
      pausing.release();
    }
  });

  it("an offer that was sent before the pause is repeated to a host that reconnects", async () => {
    const uid = newUid();
    const first = startUpdater(uid);
    await open(uid);
    await eventually("the offer", () => offersIn(first).length === 1);
    await hold(PAUSED);
    await first.stop();
    const second = startUpdater(uid);
    await eventually("the offer again", () => offersIn(second).length === 1);
  });

  it("a withdrawal without an artifact sends nothing: never an empty set", async () => {
    const agent = startUpdater();
    await described(agent);
    const offer = await open(agent.client.instanceUid, { kind: "withdraw", direction: "withdraw", artifact: null });
    await settle(agent, offer);
    expect(offersIn(agent)).toHaveLength(1);
  });
});

describe("a configuration offer", () => {
  const configured = async (text: string): Promise<Buffer> => {
    const hash = sha256(text);
    await db.pool.query("insert into configs (hash, body) values ($1, $2) on conflict do nothing", [
      hash,
      Buffer.from(text),
    ]);
    return hash;
  };

  it("is one file under the empty name, with the hash of the row", async () => {
    const agent = start(COLLECTOR, "otelcol-contrib");
    await described(agent);
    const hash = await configured("receivers: {}\n");
    await open(agent.client.instanceUid, { kind: "config", configHash: hash });
    const [message] = await eventually("the offer", () => offersIn(agent).length === 1 && offersIn(agent));
    expect(message?.remoteConfig?.configHash).toEqual(Uint8Array.from(hash));
    const file = message?.remoteConfig?.config.get("");
    expect(Buffer.from(file?.body ?? []).toString()).toBe("receivers: {}\n");
    expect(file?.contentType).toBe("text/yaml");
  });

  it("is not repeated to a collector that reports its hash, whatever became of it", async () => {
    const uid = newUid();
    const first = start(COLLECTOR, "otelcol-contrib", uid);
    const hash = await configured("exporters: {}\n");
    await open(uid, { kind: "config", configHash: hash });
    await eventually("the offer", () => offersIn(first).length === 1);
    first.report({ remoteConfigStatus: { lastRemoteConfigHash: hash, status: 3, errorMessage: "no" } });
    await eventually("the status", async () => {
      const { rows } = await db.pool.query("select 1 from agents where uid = $1 and remote_config_status = 3", [uid]);
      return rows.length === 1;
    });
    await first.stop();
    const second = start(COLLECTOR, "otelcol-contrib", uid);
    second.state.remoteConfigStatus = { lastRemoteConfigHash: hash, status: 3, errorMessage: "no" };
    await eventually("the connection", () => second.received.length > 0);
    const offers = await db.pool.query<{ id: string }>("select id from offers where recipient = $1", [uid]);
    await db.pool.query("update offers set closed_at = now() where id = $1", [offers.rows[0]?.id]);
    await open(uid, { kind: "config", configHash: await configured("service: {}\n") });
    await eventually("the next offer", () => offersIn(second).length > 0);
    expect(offersIn(second)).toHaveLength(1);
    expect(Buffer.from(offersIn(second)[0]?.remoteConfig?.config.get("")?.body ?? []).toString()).toBe("service: {}\n");
  });
});
