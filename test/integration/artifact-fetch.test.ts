/** What a fetch asks of its source, and what it says when a release cannot be trusted. */
import { createReadStream } from "node:fs";
import { cp, mkdir, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { readWantedSet } from "../../src/store/depots.ts";
import { createArtifactWorld, type ArtifactWorld } from "../support/artifact-world.ts";

let world: ArtifactWorld;
let mirror: Server;
let asked: string[];
/** Answers that come before the file: by the end of the path. */
let before: { end: string; status: number }[];
beforeAll(async () => {
  mirror = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push(path);
    const at = before.findIndex(({ end }) => path.endsWith(end));
    if (at >= 0) {
      const [answer] = before.splice(at, 1);
      response.writeHead(answer?.status ?? 500).end();
      return;
    }
    createReadStream(`${world.mirror}${path}`)
      .on("error", () => void response.writeHead(404).end())
      .pipe(response);
  });
  await new Promise<void>((resolve) => mirror.listen(0, "127.0.0.1", resolve));
  const sourceBaseUrl = `http://127.0.0.1:${(mirror.address() as AddressInfo).port}`;
  world = await createArtifactWorld({ depots: 0, sourceBaseUrl });
  await world.startWorker();
});
afterAll(async () => {
  await world.close();
  mirror.closeAllConnections();
  mirror.close();
});
beforeEach(() => {
  asked = [];
  before = [];
});

const file = (version: string, arch = "amd64") =>
  `${world.mirror}/v${version}/otelcol-contrib_${version}_linux_${arch}.tar.gz`;
const told = async () =>
  (
    await world.pool.query<{ data: Record<string, string> }>(
      "select data from notifications where kind = 'artifact_refused' order by id",
    )
  ).rows.map(({ data }) => [data["version"], data["code"], data["sha256"]]);

test("a 5xx of one file is tried again; the archive is fetched once", async () => {
  const ref = await world.publish("0.161.0");
  before = [
    { end: ".sigstore.json", status: 503 },
    { end: ".sha256", status: 500 },
  ];
  expect(await world.fetch(ref)).toMatchObject({ state: "verified" });
  expect(asked.filter((path) => path.endsWith(".tar.gz"))).toHaveLength(1);
  expect(asked.filter((path) => path.endsWith(".sigstore.json"))).toHaveLength(2);
});

test("a wrong signature is final before its archive is asked for, and is told once of each digest", async () => {
  await world.publish("0.152.0");
  await mkdir(`${world.mirror}/v0.15.2`);
  for (const end of ["", ".sha256", ".sigstore.json"]) await cp(`${file("0.152.0")}${end}`, `${file("0.15.2")}${end}`);
  const ref = { distribution: "otelcol-contrib", version: "0.15.2", os: "linux", arch: "amd64" };
  const refused = { state: "failed", code: "identity_version_mismatch" };
  expect(await world.fetch(ref)).toMatchObject(refused);
  expect(await world.fetch(ref)).toMatchObject(refused);
  expect(asked.filter((path) => path.endsWith(".tar.gz"))).toEqual([]);
  const sha256 = (await readFile(`${file("0.15.2")}.sha256`, "utf8")).trim();
  expect(await told()).toEqual([["0.15.2", "identity_version_mismatch", sha256]]);
  const audit = await world.pool.query("select from audit where code = 'identity_version_mismatch'");
  expect(audit.rowCount).toBe(2);
  // the same name with other bytes and a right signature is another matter
  await rm(`${world.mirror}/v0.15.2`, { recursive: true });
  expect(await world.fetch(await world.publish("0.15.2"))).toMatchObject({ state: "verified" });
  const { rows } = await world.pool.query(
    "select verification->>'identity' like '%@refs/tags/v0.15.2' as identity, verification ? 'logIndex' as log, verification->>'issuer' as issuer, jsonb_array_length(verification->'signedAt') > 0 as time, bundle is not null as bundle, source_url like 'http://%' as source from artifacts where version = '0.15.2'",
  );
  expect(rows).toEqual([
    {
      identity: true,
      log: true,
      issuer: "https://token.actions.githubusercontent.com",
      time: true,
      bundle: true,
      source: true,
    },
  ]);
});

test("the same bytes for two platforms are one artifact of the depots", async () => {
  const ref = await world.publish("0.170.0");
  for (const end of ["", ".sha256", ".sigstore.json"])
    await cp(`${file("0.170.0")}${end}`, `${file("0.170.0", "arm64")}${end}`);
  const digests = (await readWantedSet(world.pool)).artifacts.length;
  expect(await world.fetch(ref)).toMatchObject({ state: "verified" });
  const { generation } = await readWantedSet(world.pool);
  expect(await world.fetch({ ...ref, arch: "arm64" })).toMatchObject({ state: "verified" });
  const set = await readWantedSet(world.pool);
  expect(set.artifacts).toHaveLength(digests + 1);
  expect(set.generation).toBeGreaterThanOrEqual(generation);
});
