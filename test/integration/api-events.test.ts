import { get, type ClientRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHANNELS } from "../../src/domain/channels.ts";
import { notify, transaction } from "../../src/store/database.ts";
import { appendEvent, EVENTS_KEPT_MS, pruneEvents } from "../../src/store/events.ts";
import { createTestApi, type TestApi } from "../support/api.ts";

type Received = { id?: string; event: string; data: Record<string, unknown> };
type Stream = { status: number; events: Received[]; ended: Promise<void>; close: () => void };

let api: TestApi;
let port: number;
beforeAll(async () => {
  api = await createTestApi();
  await api.app.listen({ host: "127.0.0.1", port: 0 });
  port = (api.app.server.address() as AddressInfo).port;
});
afterAll(() => api.close());

const open = (headers: Record<string, string> = {}, query = ""): Promise<Stream> =>
  new Promise((resolve, reject) => {
    const request: ClientRequest = get(
      { host: "127.0.0.1", port, path: `/api/v1/events${query}`, headers: { ...api.as.viewer, ...headers } },
      (response: IncomingMessage) => {
        const events: Received[] = [];
        let rest = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          const parts = (rest + chunk).split("\n\n");
          rest = parts.pop() ?? "";
          events.push(...parts.map(parse));
        });
        const ended = new Promise<void>((done) => void response.on("close", () => done()));
        resolve({ status: response.statusCode ?? 0, events, ended, close: () => request.destroy() });
      },
    );
    request.on("error", reject);
  });

const parse = (text: string): Received => {
  const fields = new Map(
    text
      .split("\n")
      .map((line) =>
        line.split(": ", 2).length === 2
          ? ([line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)] as const)
          : ([line, ""] as const),
      ),
  );
  const id = fields.get("id");
  return {
    ...(id !== undefined && { id }),
    event: fields.get("event") ?? "",
    data: JSON.parse(fields.get("data") ?? "{}"),
  };
};
const changes = (stream: Stream): Received[] => stream.events.filter(({ event }) => event === "change");
const numbers = (stream: Stream): unknown[] => changes(stream).map(({ data }) => data["k"]);
const emit = (k: number, topic = "rollout:demo/1") => appendEvent(api.database.pool, topic, { k });

describe("the event stream", () => {
  it("begins with the server's time, then says what changes, with an id to resume from", async () => {
    const stream = await open();
    expect(stream.status).toBe(200);
    await expect
      .poll(() => stream.events[0])
      .toMatchObject({ event: "ping", data: { at: api.clock.now.toISOString() } });
    await emit(1);
    await expect
      .poll(() => changes(stream))
      .toMatchObject([{ id: expect.stringMatching(/^\d+-\d+$/), data: { topic: "rollout:demo/1", k: 1 } }]);
    stream.close();
  });

  it.each([
    ["header", (id: string) => open({ "last-event-id": id })],
    ["query", (id: string) => open({}, `?lastEventId=${id}`)],
  ])("resumes after the id in the %s: nothing missed, nothing twice", async (_where, resume) => {
    const first = await open();
    await emit(10);
    await expect.poll(() => numbers(first)).toEqual([10]);
    const id = changes(first)[0]?.id ?? "";
    first.close();
    await emit(11);
    await emit(12);
    const second = await resume(id);
    await emit(13);
    await expect.poll(() => numbers(second)).toEqual([11, 12, 13]);
    second.close();
  });

  it("misses no event of a transaction that ends after a younger one", async () => {
    const stream = await open();
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let written: () => void = () => undefined;
    const inserted = new Promise<void>((resolve) => (written = resolve));
    const older = transaction(api.database.pool, async (tx) => {
      await appendEvent(tx, "rollout:demo/1", { k: 20 });
      written();
      await held;
    });
    await inserted;
    await emit(21);
    await emit(22);
    release();
    await older;
    await expect.poll(() => numbers(stream)).toEqual([20, 21, 22]);
    stream.close();
  });

  it("says reset when the id is too old, and goes on from now", async () => {
    const first = await open();
    await emit(30);
    await expect.poll(() => numbers(first)).toEqual([30]);
    const id = changes(first)[0]?.id ?? "";
    first.close();
    await pruneEvents(api.database.pool, new Date(Date.now() + EVENTS_KEPT_MS + 1_000));
    const second = await open({ "last-event-id": id });
    await expect.poll(() => second.events.map(({ event }) => event)).toContain("reset");
    await emit(31);
    await expect.poll(() => numbers(second)).toEqual([31]);
    second.close();
  });

  it("refuses an id that is none", async () => {
    expect((await open({ "last-event-id": "yesterday" })).status).toBe(400);
  });

  it("says once a second that agents changed, however many reports there are", async () => {
    const stream = await open();
    for (let i = 0; i < 50; i++) await notify(api.database.pool, CHANNELS.agents);
    await expect
      .poll(() => changes(stream).filter(({ data }) => data["topic"] === "agents").length, { timeout: 5_000 })
      .toBeGreaterThan(0);
    expect(changes(stream).filter(({ data }) => data["topic"] === "agents").length).toBeLessThanOrEqual(2);
    stream.close();
  });

  it("says that the state of Git changed, whoever changed it", async () => {
    const stream = await open();
    await api.database.pool.query("update gitops_state set state = 'error', error_message = 'x', checked_at = now()");
    await expect
      .poll(() => changes(stream).map(({ data }) => data))
      .toMatchObject([{ topic: "gitops", state: "error" }]);
    await api.database.pool.query("update gitops_state set checked_at = now()");
    await emit(40);
    await expect.poll(() => changes(stream).length).toBe(2);
    stream.close();
  });

  it("delivers a burst whole and in order to every reader", async () => {
    const streams = await Promise.all([open(), open(), open()]);
    await Promise.all(Array.from({ length: 700 }, (_, k) => emit(1_000 + k)));
    for (const stream of streams) {
      await expect.poll(() => numbers(stream).length, { timeout: 20_000 }).toBe(700);
      expect(new Set(numbers(stream)).size).toBe(700);
    }
    const [first, ...others] = streams.map(numbers);
    for (const other of others) expect(other).toEqual(first);
    for (const stream of streams) stream.close();
  });

  it("goes on when the connection that listens was lost", async () => {
    const stream = await open();
    await api.database.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'myriarch-listen %'",
    );
    await emit(50);
    await expect.poll(() => numbers(stream), { timeout: 10_000 }).toEqual([50]);
    stream.close();
  });

  it("ends with the server", async () => {
    const stream = await open();
    await api.app.close();
    await stream.ended;
  });
});
