import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { agentCommandRoutes } from "../../src/api/routes/agent-commands.ts";
import { hasBit, SERVER_FLAG, type ServerToAgent } from "../../src/protocol/messages.ts";
import { putConfigs } from "../../src/store/wanted.ts";
import { createTestApi, type TestApi } from "../support/api.ts";
import { description, eventually, health, newUid, startAgent, startOpamp } from "../support/opamp.ts";
import type { OpampSetup, TestAgent } from "../support/opamp.ts";

const CAN_ALL = 0x7c07n;
const CAN_NOT_RESTART = 0x7807n;
const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

let api: TestApi;
/** Asks there, agents speak to either. */
let opamp: OpampSetup;
let other: OpampSetup;
let token: string;
const agents: TestAgent[] = [];

beforeAll(async () => {
  api = await createTestApi({
    guarded: (pool) => [
      agentCommandRoutes({
        pool,
        now: () => new Date(),
        listener: {
          id: "asks",
          on: (...args) => opamp.listener.on(...args),
          next: (...args) => opamp.listener.next(...args),
          close: async () => undefined,
        },
      }),
    ],
    now: () => new Date(),
  });
  opamp = await startOpamp(api.database);
  other = await startOpamp(api.database);
  ({ token } = await opamp.enroll("commands"));
});
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop()));
});
afterAll(async () => {
  await opamp?.stop();
  await other?.stop();
  await api?.close();
});

async function start(capabilities = CAN_ALL, at = opamp, name = "otelcol-contrib"): Promise<TestAgent> {
  const agent = startAgent({
    endpoint: at.endpoint,
    token,
    uid: newUid(),
    capabilities,
    state: {
      agentDescription: description({ "service.name": name }, { "host.name": "commands" }),
      health: health(true),
    },
  });
  agents.push(agent);
  await eventually("the row", async () => {
    const { rowCount } = await api.database.pool.query("select from agents where uid = $1 and connected", [
      agent.client.instanceUid,
    ]);
    return rowCount === 1;
  });
  return agent;
}

const post = async (uid: string, kind: string, role: "viewer" | "operator" = "operator") => {
  const answer = await api.app.inject({
    method: "POST",
    url: `/api/v1/agents/${uid}/${kind}`,
    headers: api.as[role],
    payload: { reason: "a test" },
  });
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
};
const lastAudit = async (uid: string) =>
  (
    await api.database.pool.query<{ action: string; outcome: string; code: string | null; principal: string }>(
      "select action, outcome, code, principal from audit where object in ($1, 'agent/' || $1) order by seq desc limit 1",
      [uid],
    )
  ).rows[0];
const commandsIn = (agent: TestAgent): ServerToAgent[] => agent.received.filter((m) => m.command !== undefined);
const configsIn = (agent: TestAgent): ServerToAgent[] => agent.received.filter((m) => m.remoteConfig !== undefined);
const hashesIn = (agent: TestAgent): string[] =>
  configsIn(agent).map((m) => Buffer.from(m.remoteConfig?.configHash ?? []).toString("hex"));

async function keep(text: string): Promise<Buffer> {
  const hash = sha256(text);
  await putConfigs(api.database.pool, new Map([[hash.toString("hex"), Buffer.from(text)]]));
  return hash;
}
const set = (uid: string, columns: Record<string, unknown>) =>
  api.database.pool.query(
    `update agents set ${Object.keys(columns)
      .map((name, i) => `${name} = $${i + 2}`)
      .join(", ")} where uid = $1`,
    [uid, ...Object.values(columns)],
  );
const want = (uid: string, hash: Buffer) =>
  api.database.pool.query("insert into wanted (host, config_hash, commit) values ($1, $2, 'c')", [uid, hash]);

describe("restart", () => {
  it.each([
    ["here", () => opamp],
    ["at another replica", () => other],
  ])("reaches an agent that is connected %s, alone in its message, and is audited", async (_, at) => {
    const agent = await start(CAN_ALL, at());
    const uid = agent.client.instanceUid;
    expect(await post(uid, "restart")).toMatchObject({
      status: 200,
      body: { command: "restart", hostName: "commands" },
    });
    const [message] = await eventually("the command", () => commandsIn(agent).length === 1 && commandsIn(agent));
    expect(message).toEqual({ instanceUid: uid, flags: 0n, capabilities: 0n, command: { type: 0 } });
    expect(await lastAudit(uid)).toEqual({
      action: "agents.restart",
      outcome: "accepted",
      code: null,
      principal: "operator-owner",
    });
  });

  it("needs the capability and the role, an agent that exists and is connected", async () => {
    const agent = await start(CAN_NOT_RESTART);
    const uid = agent.client.instanceUid;
    expect(await post(uid, "restart")).toMatchObject({ status: 409, body: { code: "not_supported" } });
    expect(await lastAudit(uid)).toMatchObject({ outcome: "refused", code: "not_supported" });
    expect(await post(uid, "restart", "viewer")).toMatchObject({ status: 403 });
    expect(await post(newUid(), "restart")).toMatchObject({ status: 404 });
    const away = await start();
    await away.stop();
    const awayUid = away.client.instanceUid;
    await eventually("offline", async () => {
      const { rowCount } = await api.database.pool.query("select from agents where uid = $1 and not connected", [
        awayUid,
      ]);
      return rowCount === 1;
    });
    expect(await post(awayUid, "restart")).toMatchObject({ status: 409, body: { code: "agent_not_connected" } });
    expect(commandsIn(agent)).toHaveLength(0);
  });

  it("is refused while an attempt is in flight or an offer is open", async () => {
    const agent = await start();
    const uid = agent.client.instanceUid;
    const { pool } = api.database;
    await pool.query(
      "insert into rollouts (fleet, n, kind, wanted_key, commit, policy) values ('f', 1, 'change', 'k', 'c', '{}')",
    );
    await pool.query("insert into targets (fleet, n, host, host_name, ord) values ('f', 1, $1, 'commands', 0)", [uid]);
    await pool.query(
      "insert into attempts (fleet, n, host, attempt, direction, phase) values ('f', 1, $1, 1, 'forward', 'installing')",
      [uid],
    );
    expect(await post(uid, "restart")).toMatchObject({ status: 409, body: { code: "attempt_in_flight" } });
    expect(await post(uid, "resync")).toMatchObject({ status: 409, body: { code: "attempt_in_flight" } });
    await pool.query("update attempts set phase = 'pending' where host = $1", [uid]);
    expect(await post(uid, "restart")).toMatchObject({ status: 200 });
    await pool.query(
      "insert into offers (host, recipient, kind, direction, fleet, n) values ($1, $1, 'config', 'forward', 'f', 1)",
      [uid],
    );
    expect(await post(uid, "restart")).toMatchObject({ status: 409, body: { code: "attempt_in_flight" } });
    await pool.query("delete from offers");
  });

  it("that nobody takes in time is given up: it does not happen later", async () => {
    const agent = await start();
    const uid = agent.client.instanceUid;
    await agent.stop();
    await eventually("offline", async () => {
      const { rowCount } = await api.database.pool.query("select from agents where uid = $1 and not connected", [uid]);
      return rowCount === 1;
    });
    // As after the death of the process that held it: the row has not noticed yet.
    await set(uid, { connected: true });
    expect(await post(uid, "restart")).toMatchObject({ status: 503, body: { code: "command_unanswered" } });
    const { rows } = await api.database.pool.query("select answer from agent_commands where uid = $1", [uid]);
    expect(rows).toEqual([{ answer: "not_connected" }]);
  });
});

describe("resync", () => {
  it("sends what was refused again, asks for full state, and takes it back when it is refused again", async () => {
    const agent = await start();
    const uid = agent.client.instanceUid;
    const [good, bad] = [await keep("receivers: {a: {}}\n"), await keep("receivers: {b: {}}\n")];
    await want(uid, bad);
    const say = (hash: Buffer, status: number, errorMessage = "") =>
      agent.report({ remoteConfigStatus: { lastRemoteConfigHash: hash, status, errorMessage } });
    say(good, 1);
    say(bad, 3, "no");
    await eventually("refused", async () => {
      const { rowCount } = await api.database.pool.query(
        "select from agents where uid = $1 and remote_config_status = 3",
        [uid],
      );
      return rowCount === 1;
    });
    await set(uid, { sent_config_hash: bad, sent_config_by: "offer" });
    expect(await post(uid, "resync")).toMatchObject({ status: 200, body: { configHash: bad.toString("hex") } });
    await eventually("the bytes again", () => hashesIn(agent).length === 1);
    const [message] = configsIn(agent);
    expect(Buffer.from(message?.remoteConfig?.config.get("")?.body ?? []).toString()).toBe("receivers: {b: {}}\n");
    expect(hasBit(message?.flags ?? 0n, SERVER_FLAG.reportFullState)).toBe(true);
    say(bad, 2);
    say(bad, 3, "no again");
    await eventually("taken back", () => hashesIn(agent).length === 2);
    expect(hashesIn(agent)).toEqual([bad.toString("hex"), good.toString("hex")]);
    expect(await lastAudit(uid)).toMatchObject({ action: "agents.take_back", principal: "system" });
    say(good, 1);
    await eventually("as before", async () => {
      const { rowCount } = await api.database.pool.query(
        "select from agents where uid = $1 and remote_config_status = 1 and remote_config_hash = $2",
        [uid, good],
      );
      return rowCount === 1;
    });
    // What Git wants was sent to it before: a person may try once more.
    expect(await post(uid, "resync")).toMatchObject({ body: { configHash: bad.toString("hex") } });
  });

  it("does not bring what a rollout has not brought yet", async () => {
    const agent = await start();
    const uid = agent.client.instanceUid;
    const [old, next] = [await keep("receivers: {c: {}}\n"), await keep("receivers: {d: {}}\n")];
    await want(uid, next);
    agent.report({ remoteConfigStatus: { lastRemoteConfigHash: old, status: 1, errorMessage: "" } });
    await eventually("reported", async () => {
      const { rowCount } = await api.database.pool.query(
        "select from agents where uid = $1 and remote_config_status = 1",
        [uid],
      );
      return rowCount === 1;
    });
    expect(await post(uid, "resync")).toMatchObject({ body: { configHash: old.toString("hex") } });
  });

  it("of an agent without a configuration of ours only asks for everything it knows", async () => {
    const agent = await start(0x2819n, other, "myriarch-updater");
    expect(await post(agent.client.instanceUid, "resync")).toMatchObject({ status: 200, body: { configHash: null } });
    await eventually("the question", () => agent.received.some((m) => hasBit(m.flags, SERVER_FLAG.reportFullState)));
    expect(configsIn(agent)).toHaveLength(0);
  });
});

describe("the heartbeat interval", () => {
  it("is pushed once per connection, alone, and only when it is not the default", async () => {
    const slow = await startOpamp(api.database, { heartbeatIntervalMs: 60_000, offlineAfterMs: 140_000 });
    try {
      const agent = await start(CAN_ALL | 0x2000n, slow);
      const pushed = () => agent.received.filter((m) => m.connectionSettings !== undefined);
      const [message] = await eventually("the interval", () => pushed().length === 1 && pushed());
      expect(message?.connectionSettings?.opamp).toEqual({ destinationEndpoint: "", heartbeatIntervalSeconds: 60n });
      // Who offers connection settings says so.
      expect(agent.received[0]?.capabilities).toBe(0x3fn);
      const without = await start(0x1n | 0x800n, slow);
      agent.report({ health: health(false) });
      await eventually("another report", async () => {
        const { rowCount } = await api.database.pool.query("select from agents where uid = $1 and not healthy", [
          agent.client.instanceUid,
        ]);
        return rowCount === 1;
      });
      expect(pushed()).toHaveLength(1);
      expect(without.received.filter((m) => m.connectionSettings !== undefined)).toHaveLength(0);
      await Promise.all(agents.splice(0).map((it) => it.stop()));
    } finally {
      await slow.stop();
    }
    const plain = await start(CAN_ALL | 0x2000n);
    expect(plain.received.filter((m) => m.connectionSettings !== undefined)).toHaveLength(0);
    expect(plain.received[0]?.capabilities).toBe(0x1fn);
  });
});

describe("connection history", () => {
  it("keeps at most twenty rows, one line for an agent that flaps", async () => {
    const agent = await start();
    const uid = agent.client.instanceUid;
    for (let i = 0; i < 8; i++) {
      const before = await events(uid);
      await agent.stop();
      await eventually("offline", async () => {
        const { rowCount } = await api.database.pool.query("select from agents where uid = $1 and not connected", [
          uid,
        ]);
        return rowCount === 1;
      });
      Object.assign(
        agent,
        startAgent({ endpoint: opamp.endpoint, token, uid, capabilities: CAN_ALL, state: agent.state }),
      );
      await eventually("online", async () => {
        const { rowCount } = await api.database.pool.query("select from agents where uid = $1 and connected", [uid]);
        return rowCount === 1;
      });
      expect((await events(uid)).length).toBeGreaterThanOrEqual(before.length);
    }
    const all = await events(uid);
    expect(all.filter((event) => event === "flapping")).toHaveLength(1);
    expect(all.length).toBeLessThanOrEqual(8);
  });
  const events = async (uid: string): Promise<string[]> =>
    (
      await api.database.pool.query<{ event: string }>(
        "select event from agent_connections where uid = $1 order by at",
        [uid],
      )
    ).rows.map(({ event }) => event);
});
