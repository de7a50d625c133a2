import { readdir } from "node:fs/promises";
import { afterEach, describe, expect, test } from "vitest";
import { artifactFor, artifactReadiness } from "../../src/store/artifacts.ts";
import { digest } from "../support/depot.ts";
import { contentOf } from "../support/depot-process.ts";
import { createArtifactWorld, type ArtifactWorld } from "../support/artifact-world.ts";

let world: ArtifactWorld;
afterEach(() => world.close());

const artifact = async (version: string) => artifactFor(world.pool, "otelcol-contrib", version, "linux", "amd64");
const executions = async () =>
  (
    await world.pool.query<{
      state: string;
      result: { puts: number; copies: number; released: number; failed: number };
    }>("select state, result from replication_executions where state = 'ended' order by started_at")
  ).rows;
const staged = async (): Promise<string[]> => (await readdir(world.stagingDir)).filter((name) => name !== "partial");
const everywhere = async (sha256: string): Promise<boolean> => {
  const files = await Promise.all(world.depots.map((depot) => depot.files()));
  return files.flat().every((names) => names.includes(sha256));
};

describe("replication over real depots", () => {
  test("a fetched artifact is on every disk of every node after one execution; the second releases the staged copy", async () => {
    world = await createArtifactWorld({ depots: 4 });
    await world.register();
    await world.startWorker();
    const ref = await world.publish("0.161.0");
    expect(await world.fetch(ref)).toMatchObject({ state: "verified" });
    const row = await artifact("0.161.0");
    const sha256 = row?.sha256 ?? "";
    await world.until("staging is released", async () => (await staged()).length === 0);
    expect(await everywhere(sha256)).toBe(true);
    for (const depot of world.depots)
      for (const disk of depot.disks) expect(digest(await contentOf(disk, sha256))).toBe(sha256);
    const busy = (await executions()).filter(({ result }) => result.puts + result.copies > 0);
    expect(busy.map(({ result }) => [result.puts, result.copies, result.failed])).toEqual([[3, 1, 0]]);
    const after = await executions();
    expect(
      after.at(after.findIndex((it) => it === after.find(({ result }) => result.released === 1)))?.result.puts,
    ).toBe(0);
    const question = { distribution: "otelcol-contrib", version: "0.161.0", platforms: [{ os: "linux", arch: "x64" }] };
    expect(await artifactReadiness(world.pool, question)).toMatchObject({
      ready: true,
      copies: 4,
      want: 3,
      degraded: false,
    });
  });

  test("a node killed in the middle of it and started again gets everything too, and nothing is lost", async () => {
    world = await createArtifactWorld();
    await world.register();
    await world.startWorker();
    const refs = await Promise.all(
      ["0.161.0", "0.162.0", "0.163.0"].map((version) => world.publish(version, {}, 4_000_000)),
    );
    const [, second] = world.depots;
    for (const ref of refs) await world.startFetch(ref);
    await world.until("the second node has something being written or stored", async () => {
      const { rows } = await world.pool.query("select from replication_work where node_id = $1", [second?.nodeId]);
      return rows.length > 0;
    });
    await second?.kill();
    await world.until("replication noticed", async () => {
      const { rows } = await world.pool.query("select from depots where node_id = $1 and error is not null", [
        second?.nodeId,
      ]);
      return rows.length > 0;
    });
    // two of three nodes answer: the gate asks for no more than that
    await world.until("both others have all", async () => {
      const ready = await Promise.all(
        refs.map(({ version }) =>
          artifactReadiness(world.pool, { distribution: "otelcol-contrib", version, platforms: refs }),
        ),
      );
      return ready.every((it) => it.ready && it.want === 2 && it.degraded);
    });
    expect((await staged()).length).toBe(3);
    await second?.start();
    await world.until("the returned node has all, and staging is released", async () => (await staged()).length === 0);
    for (const { version } of refs) expect(await everywhere((await artifact(version))?.sha256 ?? "")).toBe(true);
  });

  test("a depot that joins later gets what the others have", async () => {
    world = await createArtifactWorld({ depots: 3, minCopies: 2 });
    await world.register(world.depots.slice(0, 2));
    await world.startWorker();
    const ref = await world.publish("0.161.0");
    await world.fetch(ref);
    await world.until("staging is released", async () => (await staged()).length === 0);
    await world.register();
    const sha256 = (await artifact("0.161.0"))?.sha256 ?? "";
    await world.until(
      "the third has it",
      async () => (await world.depots[2]?.files())?.flat().filter((name) => name === sha256).length === 2,
    );
  });

  test("with no copy left the artifact is said to be lost, and fetched again", async () => {
    world = await createArtifactWorld({ depots: 1, minCopies: 1 });
    await world.register();
    const worker = await world.startWorker();
    const ref = await world.publish("0.161.0");
    await world.fetch(ref);
    await world.until("staging is released", async () => (await staged()).length === 0);
    const sha256 = (await artifact("0.161.0"))?.sha256 ?? "";
    await worker.stop();
    const { rm } = await import("node:fs/promises");
    for (const disk of world.depots[0]?.disks ?? []) await rm(`${disk}/artifacts/${sha256}`);
    await world.startWorker();
    await world.client.workflow.getHandle("artifact-replication").signal("poke", { cause: "test" });
    await world.until("it is back", async () => (await world.depots[0]?.files())?.flat().length === 2);
    const lost = await world.pool.query("select from events where topic = 'depots' and data->>'kind' = 'lost'");
    expect(lost.rowCount).toBeGreaterThan(0);
  });
});

describe("fetching", () => {
  const failing = async (
    version: string,
    ref = { distribution: "otelcol-contrib", version, os: "linux", arch: "amd64" },
  ) => {
    expect(await world.fetch(ref)).toMatchObject({ state: "failed" });
    const row = await artifact(version);
    expect(row).toMatchObject({ state: "failed", wanted: false });
    const { failed } = await artifactReadiness(world.pool, {
      distribution: "otelcol-contrib",
      version,
      platforms: [ref],
    });
    const audited = await world.pool.query<{ code: string }>("select code from audit where object = $1", [row?.id]);
    expect(audited.rows.at(-1)?.code).toBe(row?.errorCode);
    return [row?.errorCode, failed?.code];
  };
  test("what cannot be verified is refused with its cause, is never wanted, and a later fetch may succeed", async () => {
    world = await createArtifactWorld({ depots: 0 });
    await world.startWorker();
    const { rm, writeFile } = await import("node:fs/promises");
    const file = (version: string) => `${world.mirror}/v${version}/otelcol-contrib_${version}_linux_amd64.tar.gz`;
    await world.publish("0.1.0");
    await rm(`${file("0.1.0")}.sha256`);
    await world.publish("0.2.0");
    await rm(`${file("0.2.0")}.sigstore.json`);
    await world.publish("0.3.0");
    await writeFile(file("0.3.0"), "other bytes");
    await world.publish("0.4.0");
    await writeFile(`${file("0.4.0")}.sha256`, "not a digest");
    await world.publish("0.5.0", { defect: "wrong-digest" }).catch(() => undefined);
    await world.publish("0.6.0");
    await rm(file("0.6.0"));
    expect(await failing("0.1.0")).toEqual(["artifact_incomplete", "artifact_incomplete"]);
    expect(await failing("0.2.0")).toEqual(["artifact_incomplete", "artifact_incomplete"]);
    expect(await failing("0.3.0")).toEqual(["digest_mismatch", "digest_mismatch"]);
    expect(await failing("0.4.0")).toEqual(["checksum_malformed", "checksum_malformed"]);
    expect(await failing("0.6.0")).toEqual(["artifact_incomplete", "artifact_incomplete"]);
    expect((await readdir(`${world.stagingDir}/partial`)).length).toBe(0);
    const generation = await world.pool.query<{ generation: bigint }>("select generation from artifact_config");
    expect(generation.rows[0]?.generation).toBe(0n);
    await rm(`${world.mirror}/v0.1.0`, { recursive: true });
    const ref = await world.publish("0.1.0");
    expect(await world.fetch(ref)).toMatchObject({ state: "verified" });
    expect(await artifact("0.1.0")).toMatchObject({ state: "verified", wanted: true, errorCode: null });
    expect(await world.fetch(ref)).toMatchObject({ state: "already" });
  });

  test("a signature of another release is refused", async () => {
    world = await createArtifactWorld({ depots: 0 });
    await world.startWorker();
    const { cp, mkdir } = await import("node:fs/promises");
    await world.publish("0.152.0");
    await mkdir(`${world.mirror}/v0.15.2`);
    for (const end of ["", ".sha256", ".sigstore.json"])
      await cp(
        `${world.mirror}/v0.152.0/otelcol-contrib_0.152.0_linux_amd64.tar.gz${end}`,
        `${world.mirror}/v0.15.2/otelcol-contrib_0.15.2_linux_amd64.tar.gz${end}`,
      );
    expect(await failing("0.15.2")).toEqual(["identity_version_mismatch", "identity_version_mismatch"]);
  });
});
