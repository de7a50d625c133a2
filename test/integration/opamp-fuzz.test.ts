/** Random and damaged frames at a live server for two seconds; the seed is said, and MYRIARCH_SEED repeats a run. */
import { once } from "node:events";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WebSocket } from "ws";
import { decodeHealth, encodeAgentToServer } from "../../src/protocol/codec.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { description, eventually, health, newUid, silentLog, startAgent, startOpamp } from "../support/opamp.ts";
import type { OpampSetup } from "../support/opamp.ts";
import { seededChance } from "../support/seeded-chance.ts";

const SEED = Number(process.env["MYRIARCH_SEED"] ?? Date.now() % 2 ** 31);
const LONG_MS = 2_000;
const COLLECTOR = 0x3c07n;

let db: TestDatabase;
let opamp: OpampSetup;
let token: string;
const errors: unknown[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  opamp = await startOpamp(db, { log: { ...silentLog, error: (...said: unknown[]) => void errors.push(said) } });
  ({ token } = await opamp.enroll("fuzz"));
});
afterAll(async () => {
  await opamp?.stop();
  await db?.drop();
});

const collector = (host: string) => ({
  agentDescription: description({ "service.name": "otelcol" }, { "host.name": host }),
  health: health(true),
});
const rowOf = async (uid: string): Promise<{ connected: boolean; health: Buffer } | undefined> =>
  (await db.pool.query("select connected, health from agents where uid = $1", [uid])).rows[0];

/** Connects and says damaged things until the server has had enough, or `until`. */
async function attack(chance: () => number, until: number): Promise<number> {
  const socket = new WebSocket(opamp.endpoint, { headers: { Authorization: `Bearer ${token}` } });
  await once(socket, "open");
  const ended = new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
    socket.on("error", () => socket.terminate());
  });
  const pick = (below: number): number => Math.floor(chance() * below);
  const uid = newUid();
  let said = 0;
  while (socket.readyState === WebSocket.OPEN && performance.now() < until) {
    const message = { instanceUid: uid, sequenceNum: BigInt(said++), capabilities: COLLECTOR, flags: 0n };
    const frame = Buffer.from(encodeAgentToServer({ ...message, ...(pick(2) === 0 && collector(`fuzz-${pick(9)}`)) }));
    for (let changes = pick(4); changes > 0; changes--) frame[pick(frame.length)] = pick(256);
    const cut = pick(8) === 0 ? pick(frame.length) : frame.length;
    socket.send(frame.subarray(0, cut), { binary: pick(50) !== 0 });
    if (pick(4) === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  socket.terminate();
  await ended;
  return said;
}

it("damaged frames end their own connection at most: no error, no growth, and a neighbour notices nothing", async () => {
  console.info(`fuzz seed ${SEED}`);
  const chance = seededChance(SEED);
  const neighbour = startAgent({ endpoint: opamp.endpoint, token, capabilities: COLLECTOR, state: collector("good") });
  const { instanceUid } = neighbour.client;
  await eventually("the neighbour's row", async () => (await rowOf(instanceUid))?.connected);
  const before = process.memoryUsage().rss;
  const until = performance.now() + LONG_MS;
  let frames = 0;
  let reports = 0;
  const attacks = Array.from({ length: 8 }, async () => {
    while (performance.now() < until) frames += await attack(chance, until);
  });
  while (performance.now() < until) {
    const answered = neighbour.received.length;
    neighbour.report({ health: health(true, { statusTimeUnixNano: BigInt(++reports) }) });
    await eventually("the neighbour's answer", () => neighbour.received.length > answered, 5_000);
  }
  await Promise.all(attacks);
  console.info(`${frames} damaged frames, ${reports} reports of the neighbour`);
  // as many as the machine lets through in that time; that there were some is all that it proves
  expect(frames).toBeGreaterThan(8);
  expect(errors).toEqual([]);
  expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 ** 2);
  // It was never renamed, refused or disconnected, and what it said last is what its row says: a new time is written, too.
  expect(neighbour.client.instanceUid).toBe(instanceUid);
  expect(neighbour.received.every((message) => message.errorResponse === undefined)).toBe(true);
  const written = await eventually("its last report", async () => {
    const row = await rowOf(instanceUid);
    return row?.connected === true && decodeHealth(row.health).statusTimeUnixNano === BigInt(reports) && row;
  });
  expect(written.connected).toBe(true);
  const { rows } = await db.pool.query("select 1 from agent_connections where uid = $1", [instanceUid]);
  expect(rows).toHaveLength(1);
  await eventually("the others gone", () => opamp.server.connections() === 1);
  await neighbour.stop();
});
