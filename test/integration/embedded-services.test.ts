import { Connection } from "@temporalio/client";
import { expect, inject, test } from "vitest";
import { SEARCH_ATTRIBUTES } from "../../src/workflows/messages.ts";
import { createTestDatabase } from "../support/database.ts";

test("a test database is migrated and speaks UTF-8 and UTC", async () => {
  const database = await createTestDatabase();
  try {
    const { rows } = await database.pool.query(
      "select current_setting('server_encoding') e, current_setting('TimeZone') z, count(*)::int n from migrations",
    );
    expect(rows[0]).toMatchObject({ e: "UTF8", z: "UTC" });
    expect(rows[0].n).toBeGreaterThan(0);
  } finally {
    await database.drop();
  }
});

test("the Temporal server knows every search attribute, keeps histories for 90 days, and shows its UI", async () => {
  const connection = await Connection.connect({ address: inject("temporalAddress") });
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: "default" });
    expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining([...SEARCH_ATTRIBUTES]));
    const { config } = await connection.workflowService.describeNamespace({ namespace: "default" });
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(90 * 86_400);
    expect((await fetch(inject("temporalUiUrl"))).status).toBe(200);
  } finally {
    await connection.close();
  }
});
