/** One small round of `chaos depot`, over real depot processes. */
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { SCENARIOS } from "../../chaos/depot/scenarios.ts";
import { Stage } from "../../chaos/depot/stage.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let stage: Stage;
beforeAll(async () => {
  database = await createTestDatabase();
  const servers = { pool: database.pool, databaseUrl: database.url, temporalAddress: inject("temporalAddress") };
  stage = await Stage.open(servers, { nodes: 4, artifacts: 8, bytes: 64 * 1_024 });
});
afterAll(async () => {
  await stage.close();
  await database.drop();
});

// schedules of one node have their own tests
test.each(SCENARIOS.filter(({ name }) => name !== "controllers"))("$name: a run ends as it may", async (scenario) => {
  expect(await scenario.run(stage, 1)).toBeDefined();
});
