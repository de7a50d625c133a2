/** Who may speak under an instance UID: clones, replicas, rotated and ended credentials, deleted and forgotten agents. */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { CHANNELS } from "../../src/domain/channels.ts";
import { decodeServerToAgent, encodeAgentToServer } from "../../src/protocol/codec.ts";
import type { AgentToServer, ServerToAgent } from "../../src/protocol/messages.ts";
import { transaction } from "../../src/store/database.ts";
import { deleteAgent } from "../../src/store/forget-agents.ts";
import { createEnrollmentToken, revokeToken, rotateEnrollmentToken } from "../../src/store/tokens.ts";
import { agentRow, agentRowWhere, type AgentRow } from "../support/agent-rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { httpAgent } from "../support/http-agent.ts";
import { description, eventually, health, newUid, startAgent, startOpamp } from "../support/opamp.ts";
import type { OpampSetup, TestAgent } from "../support/opamp.ts";

const COLLECTOR = 0x7807n;
const UPDATER = 0x2819n;
let db: TestDatabase;
/** Two replicas of one database. */
let one: OpampSetup;
let two: OpampSetup;
let token: string;
const agents: TestAgent[] = [];
const sockets: WebSocket[] = [];
const setups: OpampSetup[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  [one, two] = await Promise.all([startOpamp(db), startOpamp(db)]);
  ({ token } = await one.enroll("identity"));
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  await Promise.all(agents.splice(0).map((agent) => agent.stop()));
  await Promise.all(setups.splice(0).map((setup) => setup.stop()));
});
afterAll(async () => {
  await Promise.all([one?.stop(), two?.stop()]);
  await db?.drop();
});

const collector = (host: string, startedAt = 1n) => ({
  agentDescription: description({ "service.name": "otelcol" }, { "host.name": host }),
  health: health(true, { startTimeUnixNano: startedAt }),
});
const updater = (host: string, of: string) => ({
  agentDescription: description(
    { "service.name": "myriarch-updater" },
    { "host.name": host, "dev.myriarch.collector.instance_uid": of },
  ),
  health: health(true),
});
function start(
  state: TestAgent["state"],
  more: { uid?: string; token?: string; at?: OpampSetup; updater?: boolean } = {},
) {
  const { at = one, uid, updater: isUpdater = false } = more;
  const capabilities = isUpdater ? UPDATER : COLLECTOR;
  const options = { endpoint: at.endpoint, token: more.token ?? token, capabilities, state };
  const agent = startAgent({ ...options, ...(uid !== undefined && { uid }) });
  agents.push(agent);
  return agent;
}
const rowOf = (uid: string) => agentRow(db.pool, uid);
const rowWhere = (uid: string, what: string, fits: (row: AgentRow) => boolean) =>
  agentRowWhere(db.pool, uid, what, fits);
const isConnected = (row: AgentRow): boolean => row["connected"] === true;

/** One process of an agent, with a counter of its own; it may have several connections. */
function processOf(uid: string, state: Partial<AgentToServer>, at = one) {
  let sequenceNum = 0n;
  return {
    /** A connection, after the first answer over it (or its end). */
    async connect(more: Partial<AgentToServer> = sequenceNum === 0n ? state : {}) {
      const socket = new WebSocket(at.endpoint, { headers: { Authorization: `Bearer ${token}` } });
      sockets.push(socket);
      const received: ServerToAgent[] = [];
      let closed: number | undefined;
      socket.on("message", (data) => received.push(decodeServerToAgent(data as Buffer)));
      socket.on("close", (code) => (closed = code));
      await new Promise((resolve) => socket.once("open", resolve));
      const say = (what: Partial<AgentToServer> = {}): void =>
        socket.send(
          encodeAgentToServer({
            instanceUid: uid,
            sequenceNum: sequenceNum++,
            capabilities: COLLECTOR,
            flags: 0n,
            ...what,
          }),
        );
      say(more);
      const newUid = () => received.find((m) => m.agentIdentification)?.agentIdentification?.newInstanceUid;
      return { say, received, newUid, closed: () => closed, socket };
    },
  };
}
const answered = (link: { received: ServerToAgent[] }, count = 1) =>
  eventually(`${count} answers`, () => link.received.length >= count);

describe("clones that nobody knows yet and that come in the same moment", () => {
  it.each([1, 2, 3, 4, 5])("one keeps the UID, each other one gets its own (%i)", async () => {
    const uid = newUid();
    const names = ["moment-a", "moment-b", "moment-c"];
    const links = await Promise.all(names.map((name, i) => processOf(uid, collector(name, BigInt(i + 1))).connect()));
    await Promise.all(links.map((link) => answered(link)));
    const given = links.flatMap((link) => link.newUid() ?? []);
    expect(new Set(given).size).toBe(2);
    const kept = names[links.findIndex((link) => link.newUid() === undefined)];
    expect((await rowWhere(uid, "its row", isConnected))["host_name"]).toBe(kept);
    expect(links.map((link) => link.closed())).toEqual([undefined, undefined, undefined]);
  });
});

describe("two live processes with one UID on hosts of one name", () => {
  it("the one that came later gets another UID, the first one keeps its own", async () => {
    const uid = newUid();
    const first = processOf(uid, collector("twin", 100n));
    const a = await first.connect();
    await answered(a);
    a.say();
    await answered(a, 2);
    const clone = await processOf(uid, collector("twin", 200n)).connect();
    await answered(clone);
    await eventually("the end of the older connection", () => a.closed() === 4001);
    // The first one is alive and connects again, as every client does.
    const back = await first.connect();
    await answered(back);
    const given = await eventually("a new UID for the clone", () => clone.newUid());
    expect(given).not.toBe(uid);
    expect(back.newUid()).toBeUndefined();
    // What it reported before is another process's: everything is asked for.
    expect(back.received[0]?.flags).toBe(1n);
    clone.say({ instanceUid: given, ...collector("twin", 200n) });
    await rowWhere(given, "the clone's own row", isConnected);
    expect(await rowOf(uid)).toMatchObject({ connected: true });
  });

  it("that manage the same collector are one supervisor: the older connection is not answered, nobody is renamed", async () => {
    const uid = newUid();
    const first = processOf(uid, collector("double", 100n));
    const a = await first.connect();
    a.say();
    await answered(a, 2);
    const second = await processOf(uid, collector("double", 100n)).connect();
    await answered(second);
    await eventually("the end of the older connection", () => a.closed() === 4001);
    const back = await first.connect();
    second.say();
    await answered(second, 2);
    expect([back.received.length, back.closed(), second.newUid()]).toEqual([0, undefined, undefined]);
  });

  it("over plain HTTP too", async () => {
    const uid = newUid();
    const agentAt = (sequence = 0n) =>
      httpAgent({ endpoint: one.endpoint, token, uid, capabilities: COLLECTOR, sequence });
    const [first, clone] = [agentAt(), agentAt()];
    for (let i = 0; i < 5; i++) await first.say(i === 0 ? collector("polling", 100n) : {});
    await clone.say(collector("polling", 200n));
    await first.say();
    await clone.say();
    expect(first.uid()).toBe(uid);
    expect(clone.uid()).not.toBe(uid);
  });
});

describe("an agent that another replica holds", () => {
  it("is let go there when it connects here, and its row says so at the end", async () => {
    const uid = newUid();
    const process = processOf(uid, collector("moves"));
    const a = await process.connect();
    await rowWhere(uid, "the row", isConnected);
    const before = (await rowOf(uid))?.["replica"];
    const elsewhere = startAgent({
      endpoint: two.endpoint,
      token,
      uid,
      capabilities: COLLECTOR,
      state: collector("moves"),
    });
    agents.push(elsewhere);
    await eventually("the end of the older connection", () => a.closed() === 4001);
    await rowWhere(uid, "the other replica", (row) => isConnected(row) && row["replica"] !== before);
    elsewhere.report({ health: health(false) });
    await rowWhere(uid, "what it says there", (row) => row["healthy"] === false && isConnected(row));
  });

  it("is taken back at once when that replica is dead, whatever its row still says", async () => {
    const returning = start(collector("bereaved"));
    const uid = returning.client.instanceUid;
    await rowWhere(uid, "the row", isConnected);
    const dead = randomUUID();
    await db.pool.query("update agents set replica = $2 where uid = $1", [uid, dead]);
    // what it said before it died; the agent, whose connection there is gone, comes back to where it was
    await db.pool.query("select pg_notify($1, $2)", [CHANNELS.connections, `moved ${dead} ${uid}`]);
    await rowWhere(uid, "this replica", (row) => isConnected(row) && row["replica"] === one.listener.id);
    returning.report({ health: health(false) });
    await rowWhere(uid, "what it says", (row) => row["healthy"] === false);
    expect(returning.client.instanceUid).toBe(uid);
  });

  it("is no way in for a clone on another host", async () => {
    const original = start(collector("original"));
    const uid = original.client.instanceUid;
    await rowWhere(uid, "the row", isConnected);
    const clone = start(collector("copy"), { uid, at: two });
    await eventually("another UID", () => clone.client.instanceUid !== uid);
    expect(original.client.connected).toBe(true);
  });

  it("nor for a clone on a host of the same name: they end with two UIDs", async () => {
    const uid = newUid();
    const original = start(collector("same", 100n), { uid });
    await rowWhere(uid, "the row", isConnected);
    const clone = start(collector("same", 200n), { uid, at: two });
    await eventually("two UIDs, both connected", () => {
      const uids = new Set([original.client.instanceUid, clone.client.instanceUid]);
      return uids.size === 2 && original.client.connected && clone.client.connected;
    });
    for (const { client } of [original, clone]) await rowWhere(client.instanceUid, "a row", isConnected);
  });
});

describe("a credential that ends", () => {
  it.each([
    ["is revoked", (id: string) => revokeToken(db.pool, "enrollment", id, new Date()), 5_000],
    [
      "is over by the clock, without any notification",
      (id: string) => db.pool.query("update enrollment_tokens set expires_at = now() where id = $1", [id]),
      5_000,
    ],
  ])("%s: its connections on both replicas end within five seconds, others stay", async (_, end, withinMs) => {
    const leaked = await one.enroll(`leaked-${newUid()}`);
    const mine = [one, two].map((at) => start(collector("leaked"), { token: leaked.token, at }));
    const others = [one, two].map((at) => start(collector("others"), { at }));
    for (const { client } of [...mine, ...others]) await rowWhere(client.instanceUid, "the row", isConnected);
    await end(leaked.id);
    await eventually("the end of both", () => mine.every(({ client }) => !client.connected), withinMs);
    expect(others.every(({ client }) => client.connected)).toBe(true);
  });
});

describe("a rotation", () => {
  const made = (name: string) =>
    createEnrollmentToken(db.pool, { name, labels: {}, createdBy: "test", expiresAt: null, at: new Date() });

  it("of the token of 200 agents keeps every UID, suspends links while it lasts, and is audited once per agent", async () => {
    const PAIRS = 100;
    const old = await made("fleet");
    const pairs = Array.from({ length: PAIRS }, (_, i) => {
      const own = start(collector(`host-${i}`), { token: old?.token ?? "", at: i % 2 ? two : one });
      const its = updater(`host-${i}`, own.client.instanceUid);
      return { i, own, its: start(its, { token: old?.token ?? "", updater: true, at: i % 2 ? one : two }) };
    });
    const uids = pairs.flatMap(({ own, its }) => [own.client.instanceUid, its.client.instanceUid]);
    const links = async () =>
      (
        await db.pool.query<{ link: string; n: number }>(
          "select link, count(*)::int as n from agents where kind = 'updater' and uid = any($1::uuid[]) group by link",
          [uids],
        )
      ).rows;
    const allAre = (link: string) =>
      eventually(
        `all ${link}`,
        async () => (await links()).every((row) => row.link === link && row.n === PAIRS),
        30_000,
      );
    await eventually("all rows", async () => (await links()).reduce((sum, { n }) => sum + n, 0) === PAIRS, 30_000);
    await allAre("linked");

    const next = await transaction(db.pool, (tx) =>
      rotateEnrollmentToken(tx, {
        id: old?.id ?? "",
        name: undefined,
        endsAt: null,
        createdBy: "test",
        at: new Date(),
      }),
    );
    if (next === undefined || next === "name_taken") throw new Error("no successor");
    expect(next).toMatchObject({ name: "fleet-2", successorOf: "fleet" });
    const moved = async (agent: TestAgent, isUpdater: boolean) => {
      await agent.stop();
      agents.splice(agents.indexOf(agent), 1);
      return start(agent.state, { uid: agent.client.instanceUid, token: next.token, updater: isUpdater, at: two });
    };
    const half = await Promise.all(pairs.map(({ own }) => moved(own, false)));
    await allAre("mismatch");
    const rest = await Promise.all(pairs.map(({ its }) => moved(its, true)));
    await allAre("linked");

    const now = [...half, ...rest];
    expect(now.map(({ client }) => client.instanceUid).toSorted()).toEqual(uids.toSorted());
    const audited = async (action: string) =>
      (
        await db.pool.query<{ n: number; agents: number }>(
          `select count(*)::int as n, count(distinct object)::int as agents from audit where action = $1
             and object = any(select 'agent/' || u from unnest($2::text[]) u)`,
          [action, uids],
        )
      ).rows[0];
    await eventually("the audit", async () => (await audited("agent.credential"))?.n === 2 * PAIRS, 30_000);
    expect(await audited("agent.credential")).toEqual({ n: 2 * PAIRS, agents: 2 * PAIRS });
    await eventually("the audit of links", async () => (await audited("agent.link"))?.agents === PAIRS, 30_000);
    // Who comes back with the old token now is a stranger.
    const late = start(collector("host-0"), { uid: half[0]?.client.instanceUid ?? "", token: old?.token ?? "" });
    await eventually("another UID", () => late.client.instanceUid !== half[0]?.client.instanceUid);
  }, 120_000);

  it("may skip a generation, and the old token ends when it was said", async () => {
    const first = await made("chain");
    const agent = start(collector("chain"), { token: first?.token ?? "" });
    await rowWhere(agent.client.instanceUid, "the row", isConnected);
    const rotate = (id: string, endsAt: Date | null) =>
      transaction(db.pool, (tx) =>
        rotateEnrollmentToken(tx, { id, name: undefined, endsAt, createdBy: "test", at: new Date() }),
      );
    const second = await rotate(first?.id ?? "", new Date(Date.now() + 1_000));
    if (second === undefined || second === "name_taken") throw new Error("no successor");
    const third = await rotate(second.id, null);
    if (third === undefined || third === "name_taken") throw new Error("no successor");
    expect(third.name).toBe("chain-3");
    await eventually("the end of the first", () => !agent.client.connected, 5_000);
    const back = start(collector("chain"), { uid: agent.client.instanceUid, token: third.token });
    await rowWhere(agent.client.instanceUid, "the third", (row) => row["credential"] === `token:${third.id}`);
    expect(back.client.instanceUid).toBe(agent.client.instanceUid);
  });
});

describe("an agent that is", () => {
  it("deleted loses its connection, on whichever replica it is, and comes back as a new one", async () => {
    const agent = start(collector("deleted"), { at: two });
    const uid = agent.client.instanceUid;
    const before = await rowWhere(uid, "the row", isConnected);
    const deletion = await transaction(db.pool, (tx) => deleteAgent(tx, uid, false));
    expect(deletion).toEqual({ hostName: "deleted", outcome: "deleted" });
    const after = await rowWhere(uid, "a new row", isConnected);
    expect(after["first_seen_at"]).not.toEqual(before["first_seen_at"]);
    await eventually("it was asked for everything", () => agent.received.some(({ flags }) => flags === 1n));
  });

  it("being updated is deleted only by force", async () => {
    const agent = start(collector("busy"));
    const uid = agent.client.instanceUid;
    await rowWhere(uid, "the row", isConnected);
    await openAttempt(uid);
    const remove = (force: boolean) => transaction(db.pool, (tx) => deleteAgent(tx, uid, force));
    expect(await remove(false)).toEqual({ hostName: "busy", outcome: "in_flight" });
    expect(await remove(true)).toEqual({ hostName: "busy", outcome: "deleted" });
  });

  it("away for longer than agents.forgetAfter is forgotten, with one audit entry for all; others are kept", async () => {
    const [away, updated, present] = [newUid(), newUid(), newUid()];
    const insert = `insert into agents (uid, kind, kind_reason, credential, host_name, connected, last_seen_at)
      values ($1, 'collector', 'x', 'token:x', 'away', false, now() - $2::interval)`;
    await db.pool.query(insert, [away, "31 d"]);
    await db.pool.query(insert, [updated, "31 d"]);
    await db.pool.query(insert, [present, "29 d"]);
    await openAttempt(updated);
    setups.push(await startOpamp(db, { sweepMs: 50 }));
    await eventually("the row to go", async () => (await rowOf(away)) === undefined);
    expect(await rowOf(present)).toBeDefined();
    expect(await rowOf(updated)).toBeDefined();
    const { rows } = await db.pool.query("select detail from audit where action = 'agents.forget'");
    expect(rows).toMatchObject([{ detail: { count: 1 } }]);
  });

  let attempts = 0;
  async function openAttempt(host: string): Promise<void> {
    const fleet = `attempt-${++attempts}`;
    await db.pool.query(
      `insert into rollouts (fleet, n, kind, wanted_key, commit, policy, state) values ($1, 1, 'change', 'k', 'c', '{}', 'running')`,
      [fleet],
    );
    await db.pool.query(`insert into targets (fleet, n, host, host_name, ord) values ($1, 1, $2, 'h', 0)`, [
      fleet,
      host,
    ]);
    await db.pool.query(
      `insert into attempts (fleet, n, wave, host, attempt, direction, phase) values ($1, 1, 0, $2, 1, 'forward', 'offered')`,
      [fleet, host],
    );
  }
});
