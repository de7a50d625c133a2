import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bytesOf, configOf, createTestNode, digest, OURS, stream, type TestNode } from "../../test/support/depot.ts";
import { createDepotClient, type DepotClient } from "./client.ts";
import { buildControlServer } from "./server.ts";

const CONTENTS = ["a", "b", "c"].map((text) => bytesOf(text));
const CONFIG = configOf(1, CONTENTS);
const token = "control-token-of-the-test";
let it: TestNode;
let client: DepotClient;
let control: ReturnType<typeof buildControlServer>;
beforeEach(async () => {
  it = await createTestNode();
  control = buildControlServer(it.node, { token, log: () => undefined });
  const controlUrl = await control.listen({ host: "127.0.0.1", port: 0 });
  client = createDepotClient({ controlUrl, readUrl: controlUrl }, { tokens: { control: token, read: token } });
  await client.putConfig(CONFIG, []);
});
afterEach(async () => {
  await client.close();
  await control.close();
  await it.remove();
});
const code = (work: Promise<unknown>) =>
  work.then(
    () => "none",
    ({ code: is }: { code: string }) => is,
  );

test("the bits say of each artifact whether no disk, some or all have it", async () => {
  const [a = "", b = ""] = CONFIG.artifacts;
  for (const sha256 of [a, b]) {
    const bytes = CONTENTS.find((content) => digest(content) === sha256) ?? Buffer.alloc(0);
    await client.put(sha256, { epoch: OURS, generation: 1 }, bytes.length, stream(bytes));
  }
  await rm(join(it.folders[1] ?? "", "artifacts", b));
  expect(await client.listOf(CONFIG.artifacts)).toMatchObject({ generation: 1, copies: ["all", "some", "none"] });
});

test("bits about another set are not given: whoever asks is out of date", async () => {
  expect(await code(client.listOf(CONFIG.artifacts.slice(1)))).toBe("depot_set");
  await client.putConfig(configOf(2, CONTENTS.slice(1)), []);
  expect(await code(client.listOf(CONFIG.artifacts))).toBe("depot_set");
});

test.each(["format=bitmap", "format=bitmap&digest=no", "format=other"])(
  "?%s is refused with what is wrong",
  async (query) => {
    const answer = await control.inject({ url: `/artifacts?${query}`, headers: { authorization: `Bearer ${token}` } });
    expect([answer.statusCode, answer.json<{ code: string }>().code]).toEqual([400, "invalid_request"]);
  },
);
