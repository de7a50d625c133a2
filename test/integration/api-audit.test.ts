import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { verifyAudit } from "../../src/store/audit-read.ts";
import { audit } from "../../src/store/audit.ts";
import { createTestApi, type TestApi } from "../support/api.ts";

let api: TestApi;
beforeEach(async () => {
  api = await createTestApi();
  for (let i = 1; i <= 5; i++)
    await audit(
      api.database.pool,
      {
        principal: `p${i}`,
        action: "rollouts.pause",
        object: "demo/1",
        outcome: "accepted",
        detail: { z: i, a: { d: 1, c: [2] } },
      },
      new Date(Date.UTC(2026, 10, 29, 2, i)),
    );
});
afterEach(() => api.close());

const verify = async (head = "") =>
  (
    await api.app.inject({ url: `/api/v1/audit/verify${head === "" ? "" : `?head=${head}`}`, headers: api.as.viewer })
  ).json<Record<string, unknown>>();
const spoil = (sql: string) => api.database.pool.query(sql);

describe("the audit chain", () => {
  it("is whole as it was written, and names its head", async () => {
    expect(await verify()).toMatchObject({
      ok: true,
      rows: 5,
      head: { seq: "5", hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      firstBad: null,
    });
  });
  it.each([
    ["a changed principal", "update audit set principal = 'mallory' where seq = 3", { seq: "3", because: "changed" }],
    ["a changed detail", `update audit set detail = '{"z": 9}' where seq = 2`, { seq: "2", because: "changed" }],
    [
      "a refusal made to look accepted",
      "update audit set outcome = 'refused' where seq = 4",
      { seq: "4", because: "changed" },
    ],
    [
      "a changed time",
      "update audit set at = at + interval '1 second' where seq = 5",
      { seq: "5", because: "changed" },
    ],
    ["a removed row", "delete from audit where seq = 3", { seq: "4", because: "missing_before" }],
    ["a removed beginning", "delete from audit where seq <= 2", { seq: "3", because: "missing_before" }],
    [
      "a row with hashes of its own",
      "update audit set hash = sha256('x') where seq = 3",
      { seq: "3", because: "changed" },
    ],
  ])("shows %s", async (_what, sql, firstBad) => {
    await spoil(sql);
    expect(await verify()).toMatchObject({ ok: false, firstBad });
  });
  it("shows a cut tail to who wrote the head down", async () => {
    const { head } = (await verify()) as { head: { hash: string } };
    await spoil("delete from audit where seq >= 4");
    expect(await verify()).toMatchObject({ ok: true, rows: 3 });
    expect(await verify(head.hash)).toMatchObject({ ok: false, firstBad: { seq: null, because: "head_not_found" } });
  });
  it("is checked over more rows than one page", async () => {
    const { pool } = api.database;
    for (let i = 0; i < 2_100; i++)
      await audit(pool, { principal: "p", action: "a", object: String(i), outcome: "accepted" }, new Date(0));
    expect(await verifyAudit(pool)).toMatchObject({ ok: true, rows: 2_105 });
  });
});

describe("the audit list", () => {
  it("has the newest first and pages without a gap", async () => {
    const seen: string[] = [];
    let next: string | null = "";
    while (next !== null) {
      const answer: { body: string } = await api.app.inject({
        url: `/api/v1/audit?limit=2${next === "" ? "" : `&cursor=${next}`}`,
        headers: api.as.viewer,
      });
      const body = JSON.parse(answer.body) as { items: { principal: string }[]; next: string | null };
      seen.push(...body.items.map(({ principal }) => principal));
      next = body.next;
    }
    expect(seen).toEqual(["p5", "p4", "p3", "p2", "p1"]);
  });
  it.each([
    ["principal=p2", ["p2"]],
    ["outcome=refused", []],
    ["object=demo/1&action=rollouts.pause&limit=1", ["p5"]],
  ])("is filtered by %s", async (query, principals) => {
    const { items } = (await api.app.inject({ url: `/api/v1/audit?${query}`, headers: api.as.viewer })).json<{
      items: { principal: string }[];
    }>();
    expect(items.map(({ principal }) => principal)).toEqual(principals);
  });
});
