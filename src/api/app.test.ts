import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Pool } from "../store/database.ts";
import { buildApi } from "./app.ts";
import { createLogger } from "./logger.ts";

/** A database that is away: what every query and every connection then say. */
const away = (code: string): Pool => {
  const refuse = async (): Promise<never> => {
    throw Object.assign(new Error(`connect ${code} planted-host-name`), { code });
  };
  return { query: refuse, connect: refuse } as unknown as Pool;
};

let app: FastifyInstance;
let log: string[];
const start = async (code: string): Promise<void> => {
  log = [];
  app = await buildApi({
    settings: {
      mode: "production",
      server: { listen: { host: "127.0.0.1", port: 0 }, publicUrl: "https://fleet.example.com", trustedProxies: [] },
      auth: { apiTokens: true },
      temporal: { namespace: "default" },
    },
    pool: away(code),
    hub: { subscribe: async () => () => undefined, close: async () => undefined },
    now: () => new Date(0),
    log: createLogger({ name: "test", level: "debug" }, { write: (line: string) => void log.push(line) }),
    version: "0",
    controls: { control: async () => ({ status: 200, answer: { changed: true, state: "", message: "" } }) },
    temporal: { reachable: async () => false },
    webDir: fileURLToPath(new URL("../../web", import.meta.url)),
    plugins: { guarded: [], ownCredential: [], root: [] },
  });
};
beforeEach(() => start("ECONNREFUSED"));
afterEach(() => app.close());

describe("with the database away", () => {
  it("is alive, not ready, and still serves the page", async () => {
    expect((await app.inject("/healthz")).statusCode).toBe(200);
    const ready = await app.inject("/readyz");
    expect([ready.statusCode, ready.json()]).toEqual([
      503,
      { ready: false, degraded: true, database: false, temporal: false, draining: null },
    ]);
    expect((await app.inject("/")).statusCode).toBe(200);
  });
  it.each(["ECONNREFUSED", "57P01", "08006", "53300"])(
    "answers database_unavailable to %s, with the cause in the log only",
    async (code) => {
      await app.close();
      await start(code);
      const answer = await app.inject({ url: "/api/v1/agents", headers: { authorization: "Bearer x" } });
      expect(answer.json()).toMatchObject({ status: 503, code: "database_unavailable" });
      expect(answer.body).not.toContain("planted-host-name");
      expect(log.join("")).toContain("planted-host-name");
    },
  );
  it("lets nobody in", async () => {
    const answer = await app.inject({
      method: "POST",
      url: "/api/v1/rollouts/demo/1/pause",
      headers: { authorization: "Bearer x" },
    });
    expect(answer.statusCode).toBe(503);
    expect((await app.inject("/api/v1/agents")).statusCode).toBe(401);
  });
});

describe("the description", () => {
  it("names for every operation which credential it takes and how it may be refused", async () => {
    const document = (await app.inject("/api/v1/openapi.json")).json<{
      paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
    }>();
    const guarded = Object.entries(document.paths).filter(([path]) => path.startsWith("/api/v1/"));
    expect(guarded.length).toBeGreaterThan(15);
    for (const [path, operations] of guarded)
      for (const [method, { responses }] of Object.entries(operations))
        expect(Object.keys(responses), `${method} ${path}`).toContain("401");
  });
});
