/** The server's HTTP side on a database of its own, with one token per role. No port is opened: tests use `inject`. */
import { fileURLToPath } from "node:url";
import type { FastifyInstance, FastifyPluginAsync } from "fastify";
import { buildApi, type ApiDeps } from "../../src/api/app.ts";
import { createEventHub, type EventHub } from "../../src/api/event-hub.ts";
import { createLogger } from "../../src/api/logger.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import type { Role } from "../../src/domain/rest/roles.ts";
import type { Pool } from "../../src/store/database.ts";
import { createListener } from "../../src/store/listen.ts";
import { createApiToken } from "../../src/store/tokens.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";

type ControlCall = { fleet: string; n: number; control: string; input: unknown; principal: string; key: string };
export type TestApi = {
  app: FastifyInstance;
  database: TestDatabase;
  hub: EventHub;
  /** `authorization` headers by role. */
  as: Record<Role, { authorization: string }>;
  tokens: Record<Role, string>;
  log: string[];
  /** What the controls were asked; `answerControl` decides what they say. */
  calls: ControlCall[];
  answerControl: (next: ApiDeps["controls"]["control"]) => void;
  temporalReachable: (value: boolean) => void;
  clock: { now: Date };
  close(): Promise<void>;
};

type Options = {
  guarded?: (pool: Pool) => FastifyPluginAsync[];
  ownCredential?: FastifyPluginAsync[];
  /** PostgreSQL to use when the project's global set-up starts none. */
  serverUrl?: string;
  /** Default: a clock that stands still until a test moves it. */
  now?: () => Date;
};

export async function createTestApi(options: Options = {}): Promise<TestApi> {
  const database = await createTestDatabase(options.serverUrl);
  const { pool } = database;
  const log: string[] = [];
  const calls: ControlCall[] = [];
  const clock = { now: new Date("2026-11-29T02:14:07.123Z") };
  let reachable = true;
  let answer: ApiDeps["controls"]["control"] = async (_fleet, _n, control) => ({
    status: 200,
    answer: { changed: true, state: "paused", message: `${control} taken` },
  });
  const onError = (error: Error): void => void log.push(JSON.stringify({ listener: error.message }));
  const listener = await createListener({ url: database.url, channels: Object.values(CHANNELS), onError });
  const now = options.now ?? ((): Date => clock.now);
  const hub = await createEventHub({ pool, listener, now, onError });
  const app = await buildApi({
    settings: {
      mode: "development",
      server: { listen: { host: "127.0.0.1", port: 0 }, publicUrl: "http://fleet.example.com", trustedProxies: [] },
      auth: { apiTokens: true },
      temporal: { uiUrl: "http://127.0.0.1:8233", namespace: "default" },
    },
    pool,
    hub,
    now,
    log: createLogger({ name: "test", level: "debug" }, { write: (line: string) => void log.push(line) }),
    version: "0.0.0-test",
    controls: {
      control: async (fleet, n, control, input, principal, key) => {
        calls.push({ fleet, n, control, input, principal, key });
        return answer(fleet, n, control, input, principal, key);
      },
    },
    temporal: { reachable: async () => reachable },
    webDir: fileURLToPath(new URL("../../web", import.meta.url)),
    plugins: { guarded: options.guarded?.(pool) ?? [], ownCredential: options.ownCredential ?? [], root: [] },
  });
  const tokens = { viewer: "", operator: "", admin: "" };
  for (const role of ["viewer", "operator", "admin"] as const) {
    const made = await createApiToken(pool, {
      name: `test-${role}`,
      owner: `${role}-owner`,
      role,
      createdBy: "test",
      expiresAt: null,
      at: clock.now,
    });
    tokens[role] = made?.token ?? "";
  }
  const bearer = (role: Role) => ({ authorization: `Bearer ${tokens[role]}` });
  return {
    app,
    database,
    hub,
    tokens,
    as: { viewer: bearer("viewer"), operator: bearer("operator"), admin: bearer("admin") },
    log,
    calls,
    clock,
    answerControl: (next) => void (answer = next),
    temporalReachable: (value) => void (reachable = value),
    close: async () => {
      await app.close();
      await hub.close();
      await listener.close();
      await database.drop();
    },
  };
}
