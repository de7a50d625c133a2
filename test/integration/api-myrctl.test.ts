import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { artifactRoutes } from "../../src/api/routes/artifacts.ts";
import { gitopsRoutes } from "../../src/api/routes/gitops.ts";
import { runMyrctl } from "../../src/cli/program.ts";
import { failure } from "../../src/domain/errors.ts";
import { insertHosts, insertRollout, insertSnapshot } from "../support/api-rows.ts";
import { createTestApi, type TestApi } from "../support/api.ts";

let api: TestApi;
let server: string;
let folder: string;
beforeAll(async () => {
  api = await createTestApi({
    guarded: (pool) => [
      gitopsRoutes({ pool, now: () => new Date(), poke: async () => undefined }),
      artifactRoutes({
        pool,
        now: () => new Date(),
        minCopies: 3,
        keepForMs: 30 * 86_400_000,
        wakeReplication: async () => undefined,
        depotClient: () => {
          throw new Error("no node is asked here");
        },
      }),
    ],
  });
  await insertHosts(api.database.pool);
  await insertSnapshot(api.database.pool);
  await insertRollout(api.database.pool);
  await api.database.pool.query(
    `insert into artifacts (distribution, version, os, arch, file_name, source_url)
     values ('otelcol-contrib', '0.162.0', 'linux', 'amd64', 'x.tar.gz', 'file:///x')`,
  );
  await api.database.pool.query(
    "insert into depots (node_id, zone, control_url, read_url) values ('depot-1', 'zone-a', 'http://127.0.0.1:1', 'http://127.0.0.1:2')",
  );
  await api.app.listen({ host: "127.0.0.1", port: 0 });
  server = `http://127.0.0.1:${(api.app.server.address() as AddressInfo).port}`;
  folder = await mkdtemp(join(tmpdir(), "myrctl-"));
  for (const role of ["viewer", "operator", "admin"] as const)
    await writeFile(join(folder, role), `${api.tokens[role]}\n`, { mode: 0o600 });
  await writeFile(join(folder, "cli.json"), JSON.stringify({ server, tokenFile: join(folder, "admin") }));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await api.close();
});
beforeEach(() => {
  api.calls.length = 0;
  api.answerControl(async () => ({
    status: 200,
    answer: { changed: true, state: "paused", message: "no new offers" },
  }));
});

const run = async (line: string, env: Record<string, string> = { MYRIARCH_DATA: folder }) => {
  const written = { out: "", err: "" };
  const io = {
    out: (text: string) => void (written.out += `${text}\n`),
    err: (text: string) => void (written.err += `${text}\n`),
  };
  const code = await runMyrctl(
    line.match(/"[^"]*"|\S+/g)?.map((part) => part.replaceAll('"', "")) ?? [],
    env,
    io,
    "1.2.3",
  );
  return { code, ...written };
};

describe("myrctl", () => {
  it.each([
    ["agents list", /edge-1 .*demo .*0\.162\.0 .*healthy.*linked/],
    ["agents list --runs 0.161.0", /core-1 .*offline +pending/],
    ["agents list --fleet nowhere", /no agent matches/],
    ["agents explain 0190a000-0000-7000-8000-000000000002", /it runs 0\.161\.0, Git wants 0\.162\.0\n +because: /],
    ["explain agent core-1", /^core-1 runs 0\.161\.0, Git wants 0\.162\.0: in demo\/1[\s\S]*waits +for a person/],
    ["explain agent EDGE-1", /^edge-1 runs 0\.162\.0, as Git wants\n[\s\S]*object +Fleet demo at fleets\/demo\.yaml:1/],
    [
      "agents show 0190a000-0000-7000-8000-000000000001",
      /now +as wanted\n[^]*config +none: no configuration of ours\n[^]*updater +linked/,
    ],
    ["fleets list", /demo +0\.162\.0 +- +0\.161\.0 \(1\), 0\.162\.0 \(1\) +2 +1 +#1 waiting_approval/],
    ["rollouts list", /demo\/1 +change +0\.162\.0 +c1 +waiting_approval +1 +0 +2/],
    [
      "rollouts show demo/1 --targets",
      /next +one operator[\s\S]*2 rest +waiting_approval +required[\s\S]*core-1 +- +pending/,
    ],
    ["rollouts targets demo/1", /core-1 +- +pending .*wave rest waits for an approval/],
    [
      "rollouts targets demo/1 core-1",
      /^core-1 [\s\S]*waits +for a person\ndo +approve the wave[\s\S]*no offer was made/,
    ],
    ["tokens list api", /test-admin/],
    ["gitops status", /state +ok\nin force +c1 "to 0\.162\.0" by kim/],
    ["gitops issues", /no issues/],
    ["gitops sync", /asked for: starts now/],
    ["artifacts list", /otelcol-contrib 0\.162\.0 +linux_amd64 +fetching/],
    ["depots status", /depot-1 +zone-a +active +no: not asked yet/],
    ["validate examples/quickstart", /^valid: /],
    ["audit list", /SEQ|no rows/],
    ["audit verify", /^whole: \d+ rows/],
    ["--version", /^1\.2\.3$/m],
    ["--help", /Exit codes: 0 done/],
  ])("%s", async (line, shows) => {
    const { code, out, err } = await run(line);
    expect(err).toBe("");
    expect(out).toMatch(shows);
    expect(code).toBe(0);
  });

  it("prints JSON when asked", async () => {
    expect(JSON.parse((await run("fleets list --json")).out)).toMatchObject({
      items: [{ name: "demo" }],
      unassigned: 0,
    });
  });

  it.each(["approve", "pause", "resume", "retry", "rollback", "abort"])(
    "sends %s with reason, and says what came of it",
    async (control) => {
      const { code, out } = await run(`rollouts ${control} demo/1 --reason "disk alarm"`);
      expect([code, out]).toEqual([0, "demo/1: no new offers; now paused\n"]);
      expect(api.calls).toMatchObject([
        { fleet: "demo", n: 1, control, input: { reason: "disk alarm" }, principal: "admin-owner" },
      ]);
    },
  );
  it("names a hold that waits for its workflow", async () => {
    api.answerControl(async () => ({
      status: 202,
      answer: { changed: true, state: "paused", message: "held", pending: true },
    }));
    expect((await run("rollouts pause demo/1")).out).toContain("the workflow follows");
  });
  it("an enrollment token comes with the files of a host, if they are wanted, and not at all if they cannot be had", async () => {
    const { out, err, code } = await run("tokens create enrollment web --snippet --transport http");
    expect(code).toBe(0);
    expect(err).toMatch(/^enrollment token web .*shown this once/);
    expect(out).toMatch(/^#!\/bin\/sh\n/);
    expect(out).toContain('endpoint: "http://fleet.example.com/v1/opamp"');
    expect(out).toMatch(/^MYRIARCH_ENROLLMENT_TOKEN=myr_enroll_[\w-]{43}$/m);
    expect(await run("tokens create enrollment web2 --snippet --transport pigeon")).toMatchObject({ code: 1, out: "" });
    expect((await run("tokens list enrollment")).out).not.toMatch(/web2/);
  });

  it("creates a token whose secret alone is on stdout", async () => {
    const { out, err, code } = await run("tokens create enrollment edge --label site=fra --label tier=1");
    expect(code).toBe(0);
    expect(out).toMatch(/^myr_enroll_[\w-]{43}\n$/);
    expect(err).not.toContain(out.trim());
    expect((await run("tokens list enrollment")).out).toMatch(/edge .*site=fra,tier=1/);
  });
  it("says which row of the audit log was changed, with exit code 1", async () => {
    await api.database.pool.query("update audit set principal = 'mallory' where seq = (select min(seq) from audit)");
    const { code, out } = await run("audit verify");
    expect([code, out]).toEqual([1, expect.stringContaining("it was changed after it was written")]);
  });

  it.each([
    ["agents list", { MYRIARCH_DATA: "FOLDER/empty" }, 2, "no server is named"],
    ["agents list --server http://other.example:1", { MYRIARCH_DATA: "FOLDER" }, 2, "token belongs to"],
    ["agents list --server ftp://x --token-file FOLDER/admin", {}, 2, "not an http or https URL"],
    ["agents list --server SERVER --token-file FOLDER/none", {}, 2, "cannot be read"],
    ["agents list --server http://127.0.0.1:1 --token-file FOLDER/admin", {}, 3, "does not answer"],
    ["rollouts pause demo/1 --server SERVER --token-file FOLDER/viewer", {}, 1, "(forbidden, request "],
    ["rollouts show demo/9", { MYRIARCH_DATA: "FOLDER" }, 1, "rollout demo/9 does not exist (not_found"],
    ["rollouts show demo", { MYRIARCH_DATA: "FOLDER" }, 2, "write FLEET/N"],
    ["tokens create api x", { MYRIARCH_DATA: "FOLDER" }, 2, "--role"],
    ["tokens create api x --role viewer --snippet", { MYRIARCH_DATA: "FOLDER" }, 2, "enrollment token"],
    ["tokens create other x", { MYRIARCH_DATA: "FOLDER" }, 2, "api or enrollment"],
    ["frobnicate", {}, 2, "unknown command"],
  ] as const)("%s with %j ends with %i", async (line, env, code, says) => {
    const filled = (text: string) => text.replaceAll("FOLDER", folder).replaceAll("SERVER", server);
    const environment = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, filled(value)]));
    const answer = await run(filled(line), { ...environment });
    expect(answer.err).toContain(says);
    expect(answer.code).toBe(code);
  });
  it.each([
    [failure("control_conflict", { control: "approve", because: "no wave waits for an approval" }), 1],
    [failure("reason_required", { action: "abort" }), 1],
    [failure("control_unanswered", { control: "retry" }), 3],
  ])("says why a control was refused: %s", async (refusal, code) => {
    api.answerControl(async () => {
      throw refusal;
    });
    const answer = await run("rollouts approve demo/1");
    expect(answer.err).toContain(`${refusal.message} (${refusal.code}, request`);
    expect(answer.code).toBe(code);
  });
  it("never prints its token", async () => {
    const all = await Promise.all(["agents list", "rollouts show demo/9", "frobnicate"].map((line) => run(line)));
    expect(JSON.stringify(all)).not.toContain(api.tokens.admin);
  });
});
