import { createHash, randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { agentConfigRoutes } from "../../src/api/routes/agent-config.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import { createSeal } from "../../src/api/opamp/seal.ts";
import type { AgentState } from "../../src/protocol/agent-client.ts";
import { SERVER_FLAG, hasBit, type ComponentDetails, type ServerToAgent } from "../../src/protocol/messages.ts";
import { putConfigs, readPlanAgents } from "../../src/store/wanted.ts";
import { createTestApi, type TestApi } from "../support/api.ts";
import { description, eventually, health, newUid, startAgent, startOpamp } from "../support/opamp.ts";
import type { OpampSetup, TestAgent } from "../support/opamp.ts";

const COLLECTOR = 0x7807n | 0x400n;
const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

let api: TestApi;
let opamp: OpampSetup;
let token: string;
let n = 0;
const agents: TestAgent[] = [];

beforeAll(async () => {
  api = await createTestApi({
    guarded: (pool) => [agentConfigRoutes({ pool, keys: [Buffer.alloc(32, 7)] })],
    now: () => new Date(),
  });
  opamp = await startOpamp(api.database, { sweepMs: 200 });
  ({ token } = await opamp.enroll("configs"));
});
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop()));
});
afterAll(async () => {
  await opamp?.stop();
  await api?.close();
});

function start(state: Partial<AgentState> = {}, uid = newUid()): TestAgent {
  const agent = startAgent({
    endpoint: opamp.endpoint,
    token,
    uid,
    capabilities: COLLECTOR,
    state: {
      agentDescription: description(
        { "service.name": "otelcol-contrib", "service.version": "0.161.0" },
        { "host.name": "configs", "os.type": "linux", "host.arch": "amd64" },
      ),
      health: health(true, { componentHealthMap: new Map([["pipeline:traces", health(true)]]) }),
      ...state,
    },
  });
  agents.push(agent);
  return agent;
}

const get = async (agent: TestAgent, path = ""): Promise<Record<string, unknown>> => {
  const url = `/api/v1/agents/${agent.client.instanceUid}${path}`;
  const answer = await api.app.inject({ url, headers: api.as.viewer });
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json();
};
const configOf = async (agent: TestAgent) => (await get(agent))["remoteConfig"] as Record<string, unknown>;
const described = (agent: TestAgent) =>
  eventually("the row", async () => {
    const { rowCount } = await api.database.pool.query("select from agents where uid = $1", [agent.client.instanceUid]);
    return rowCount === 1;
  });
const until = (agent: TestAgent, what: string, fits: (config: Record<string, unknown>) => boolean) =>
  eventually(what, async () => {
    const config = await configOf(agent);
    return fits(config) && config;
  });

async function keep(text: string): Promise<Buffer> {
  const hash = sha256(text);
  await putConfigs(api.database.pool, new Map([[hash.toString("hex"), Buffer.from(text)]]));
  return hash;
}

/** Opens a configuration offer as the engine does. */
async function offer(agent: TestAgent, text: string, direction = "forward"): Promise<Buffer> {
  const hash = await keep(text);
  const uid = agent.client.instanceUid;
  n++;
  await api.database.pool.query(
    "insert into rollouts (fleet, n, kind, wanted_key, commit, policy, state) values ($1, 1, 'change', 'k', 'c', '{}', 'running')",
    [`f${n}`],
  );
  await api.database.pool.query("update offers set closed_at = now() where host = $1 and closed_at is null", [uid]);
  await api.database.pool.query(
    `with o as (insert into offers (host, recipient, kind, direction, fleet, n, attempt, config_hash)
       values ($1, $1, 'config', $2, $3, 1, 1, $4) returning 1) select pg_notify('${CHANNELS.offers}', $1::text) from o`,
    [uid, direction, `f${n}`, hash],
  );
  return hash;
}
const configs = (agent: TestAgent): ServerToAgent[] => agent.received.filter((m) => m.remoteConfig !== undefined);
const received = (agent: TestAgent, count: number) =>
  eventually(`configuration ${count}`, () => configs(agent).length === count);
const say = (agent: TestAgent, hash: Buffer, status: number, errorMessage = "") =>
  agent.report({ remoteConfigStatus: { lastRemoteConfigHash: hash, status, errorMessage } });
const effective = (text: string): Pick<AgentState, "effectiveConfig"> => ({
  effectiveConfig: { configMap: new Map([["", { body: Buffer.from(text), contentType: "" }]]) },
});

describe("what becomes of a configuration", () => {
  const A = "receivers: {otlp: {}}\nservice: {pipelines: {traces: {}}}\n";
  const B = "receivers: {otlp: {x: 1}}\nservice: {pipelines: {traces: {}}}\n";

  it("sent, applying, applied; then failed; then taken back by the server", async () => {
    const agent = start();
    await described(agent);
    const a = await offer(agent, A);
    await received(agent, 1);
    await until(agent, "sent", ({ state }) => state === "sent");
    say(agent, a, 2);
    await until(agent, "applying", ({ state }) => state === "applying");
    say(agent, a, 1);
    await until(agent, "applied", ({ state }) => state === "applied");
    const b = await offer(agent, B);
    await received(agent, 2);
    say(agent, b, 3, "exit code 1");
    expect(await until(agent, "failed", ({ state }) => state === "failed")).toMatchObject({ text: "exit code 1" });
    await offer(agent, A, "take_back");
    await received(agent, 3);
    say(agent, a, 1);
    const back = await until(agent, "taken back", ({ state }) => state === "returned");
    expect(back["text"]).toMatch(/taken back: exit code 1/);
  });

  it("FAILED and then APPLIED with the one before, in one breath, is the agent's own return", async () => {
    const agent = start();
    await described(agent);
    const a = await offer(agent, A);
    await received(agent, 1);
    say(agent, a, 1);
    await until(agent, "applied", ({ state }) => state === "applied");
    const b = await offer(agent, B);
    await received(agent, 2);
    say(agent, b, 3, "no such thing");
    say(agent, a, 1);
    const back = await until(agent, "returned", ({ state }) => state === "returned");
    expect(back["text"]).toMatch(/by itself: no such thing/);
    expect(back["hash"]).toBe(a.toString("hex"));
    // Its offer is open still: a reconnect does not bring what was refused.
    await agent.stop();
    const again = start({}, agent.client.instanceUid);
    const witness = start();
    await described(witness);
    await offer(witness, A);
    await received(witness, 1);
    expect(configs(again)).toHaveLength(0);
  });

  it("one that was refused counts as new again when it is sent again", async () => {
    const agent = start();
    await described(agent);
    const a = await offer(agent, A);
    await received(agent, 1);
    say(agent, a, 3, "busy");
    await until(agent, "failed", ({ state }) => state === "failed");
    await offer(agent, A);
    await received(agent, 2);
    await until(agent, "not failed any more", ({ state }) => state === "sent");
    say(agent, a, 1);
    await until(agent, "applied", ({ state }) => state === "applied");
  });
});

describe("drift", () => {
  const SENT = "exporters:\n  debug: {verbosity: detailed}\nservice: {pipelines: {traces: {}}}\n";
  it("is found on what was sent only, stored, and gone when it is gone", async () => {
    const agent = start();
    await described(agent);
    const hash = await offer(agent, SENT);
    await received(agent, 1);
    say(agent, hash, 1);
    const clean = `${SENT.replace("detailed}", "Detailed, sampling: 2}")}extensions: {opamp: {ppid: 1}}\n`;
    agent.report(effective(clean));
    await until(agent, "no drift", ({ drift }) => Array.isArray(drift) && drift.length === 0);
    agent.report(effective(clean.replace("Detailed", "Basic")));
    await until(agent, "drift", ({ drift }) => JSON.stringify(drift) === '["exporters.debug.verbosity"]');
    expect(JSON.stringify(await get(agent, "/explain"))).toMatch(/something else than it was sent/);
    const { diff } = (await get(agent, "/config")) as { diff: string };
    expect(diff).toMatch(/^-\s+verbosity: detailed$/m);
    expect(diff).toMatch(/^\+\s+verbosity: Basic$/m);
    expect(diff).not.toContain("ppid");
    agent.report(effective(clean));
    await until(agent, "no drift again", ({ drift }) => Array.isArray(drift) && drift.length === 0);
  });

  it("equal content under a new hash, about which an older supervisor says nothing, is seen by what runs", async () => {
    const agent = start();
    await described(agent);
    const first = await offer(agent, SENT);
    await received(agent, 1);
    say(agent, first, 1);
    agent.report(effective(SENT));
    await until(agent, "no drift", ({ drift }) => Array.isArray(drift) && drift.length === 0);
    const same = await offer(agent, `${SENT}# another hash\n`);
    await received(agent, 2);
    await eventually("the effective configuration is the new one", async () => {
      const { rows } = await api.database.pool.query<{ of: Buffer | null }>(
        "select drift_of as of from agents where uid = $1 and drift = '{}'",
        [agent.client.instanceUid],
      );
      return rows[0]?.of?.equals(same) === true;
    });
    // The wait for an answer is over.
    await api.database.pool.query("update agents set sent_config_at = now() - interval '1 minute' where uid = $1", [
      agent.client.instanceUid,
    ]);
    const config = await configOf(agent);
    expect(config).toMatchObject({ state: "applied", hash: first.toString("hex"), sentHash: same.toString("hex") });
    expect(config["text"]).toMatch(/never said so/);
  });
});

describe("available components", () => {
  const part = (types: string[]): ComponentDetails => ({
    metadata: new Map(),
    subComponentMap: new Map(
      types.map((type) => [type, { metadata: new Map([["code.namespace", `m/${type}`]]), subComponentMap: new Map() }]),
    ),
  });
  const full = (hash: Buffer) => ({
    hash,
    components: new Map([
      ["receivers", part(["otlp"])],
      ["exporters", part(["debug", "otlp_http"])],
    ]),
  });
  const asksIn = (agent: TestAgent): number =>
    agent.received.filter((m) => hasBit(m.flags, SERVER_FLAG.reportAvailableComponents)).length;

  it("are asked of one agent per build, kept once, and what a build lacks is named before anything is sent", async () => {
    const hash = sha256(randomUUID());
    const hashOnly = { availableComponents: { hash, components: new Map<string, ComponentDetails>() } };
    const first = start(hashOnly);
    await eventually("the question", () => asksIn(first) === 1);
    first.report({ availableComponents: full(hash) });
    const kept = () => api.database.pool.query("select names from component_sets where hash = $1", [hash]);
    await eventually("the set", async () => (await kept()).rowCount === 1);
    const second = start(hashOnly);
    await described(second);
    await configOf(second);
    expect(asksIn(second)).toBe(0);
    expect((await kept()).rows).toEqual([{ names: ["exporters/debug", "exporters/otlphttp", "receivers/otlp"] }]);

    const wanted = await keep(
      "receivers: {otlp: {}, kafka: {}}\nexporters: {otlphttp: {}}\nservice: {pipelines: {logs: {}}}\n",
    );
    await api.database.pool.query("insert into wanted (host, config_hash, commit) values ($1, $2, 'c')", [
      second.client.instanceUid,
      wanted,
    ]);
    const config = await configOf(second);
    expect(config).toMatchObject({ state: "incompatible", missing: ["receivers/kafka"] });
    expect((await get(second))["why"]).toMatch(/incompatible: its collector has no receivers\/kafka/);
    const plan = await readPlanAgents(api.database.pool);
    expect(plan.find(({ uid }) => uid === second.client.instanceUid)?.componentsHash).toBe(hash.toString("hex"));
  });

  it("that nobody answers for are asked of somebody else, and one credential does not speak for another", async () => {
    const hash = sha256(randomUUID());
    const hashOnly = { availableComponents: { hash, components: new Map<string, ComponentDetails>() } };
    const first = start(hashOnly);
    await eventually("the question", () => asksIn(first) === 1);
    await first.stop();
    const second = start(hashOnly);
    await eventually("the question to the next", () => asksIn(second) === 1, 20_000);
    second.report({ availableComponents: full(hash) });
    await eventually("the set", async () => {
      const { rows } = await api.database.pool.query("select credential from component_sets where hash = $1", [hash]);
      return rows.length === 1;
    });
    const { rows } = await api.database.pool.query<{ missing: string[] | null }>(
      "select missing_components($1, 'token:other', $2) as missing",
      [await keep("receivers: {kafka: {}}\n"), hash],
    );
    expect(rows[0]?.missing).toBeNull();
  });

  it("an agent that reports none is not judged", async () => {
    const agent = start();
    await described(agent);
    const wanted = await keep("receivers: {anything: {}}\n");
    await api.database.pool.query("insert into wanted (host, config_hash, commit) values ($1, $2, 'c')", [
      agent.client.instanceUid,
      wanted,
    ]);
    expect(await configOf(agent)).toMatchObject({ state: "none", missing: [] });
  });
});

describe("health", () => {
  it("that is said without the pipelines of the configuration is none", async () => {
    const agent = start();
    await described(agent);
    const hash = await offer(agent, "receivers: {otlp: {}}\nservice: {pipelines: {traces: {}, logs: {}}}\n");
    await received(agent, 1);
    say(agent, hash, 1);
    const running = (...names: string[]) =>
      health(true, { componentHealthMap: new Map(names.map((name) => [`pipeline:${name}`, health(true)])) });
    agent.report({ health: running("traces") });
    await eventually("not well", async () => {
      const { health: judged } = (await get(agent)) as { health: { ok: boolean; because: string } };
      return !judged.ok && judged.because.includes("logs");
    });
    agent.report({ health: running("traces", "logs") });
    await eventually("well", async () => ((await get(agent)) as { health: { ok: boolean } }).health.ok);
  });
});

describe("secrets of a host", () => {
  const SECRETS = ["planted-url-pass", "planted-header-token", "planted-local-password", "planted-attribute"];
  const SENT = `exporters:
  otlphttp:
    endpoint: "https://u:\${env:PASS}@backend.example.com"
    headers: {x-tenant: "\${env:TENANT}"}
service: {pipelines: {traces: {}}}
`;
  const RUN = `exporters:
  otlphttp:
    endpoint: https://u:planted-url-pass@backend.example.com
    headers: [{name: x-tenant, value: planted-header-token}]
  local: {password: planted-local-password}
service: {pipelines: {traces: {}}}
`;
  it("are in no row in clear, no answer, no log, no event and no audit entry", async () => {
    const agent = start({
      agentDescription: description(
        { "service.name": "otelcol-contrib" },
        { "host.name": "secrets", "deploy.token": "planted-attribute" },
      ),
    });
    await described(agent);
    const hash = await offer(agent, SENT);
    await received(agent, 1);
    say(agent, hash, 1);
    agent.report(effective(RUN));
    await until(agent, "judged", ({ drift }) => drift !== null);
    const answers = [await get(agent), await get(agent, "/explain"), await get(agent, "/config")].map((it) =>
      JSON.stringify(it),
    );
    for (const secret of SECRETS) expect(answers.join()).not.toContain(secret);
    expect(answers[2]).toContain("${env:TENANT}");
    expect(answers[2]).toContain("https://u:${env:PASS}@backend.example.com");
    for (const secret of [...SECRETS, token]) expect(api.log.join()).not.toContain(secret);

    const dump = await dumpOf();
    // What an agent reports of itself is kept; what its configuration came to, and its credential, are not.
    for (const secret of [...SECRETS.slice(0, 3), token]) {
      expect(dump).not.toContain(secret);
      expect(dump).not.toContain(Buffer.from(secret).toString("hex"));
    }
    const { rows } = await api.database.pool.query<{ sealed: Buffer }>(
      "select effective_config as sealed from agents where uid = $1",
      [agent.client.instanceUid],
    );
    const opened = createSeal([opamp.key]).open(rows[0]?.sealed ?? Buffer.alloc(0));
    expect(opened?.toString("utf8")).toContain("planted-url-pass");
  });
});

/** Every row of every table as text: what a backup of the database has. */
async function dumpOf(): Promise<string> {
  const { rows } = await api.database.pool.query<{ name: string }>(
    "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  const tables = await Promise.all(
    rows.map(({ name }) => api.database.pool.query<{ row: string }>(`select t::text as row from ${name} t`)),
  );
  return tables.flatMap(({ rows: all }) => all.map(({ row }) => row)).join("\n");
}
