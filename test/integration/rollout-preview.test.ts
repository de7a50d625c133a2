/** The preview says exactly what the planner does, and does nothing itself. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { previewPlan, type Preview } from "../../src/activities/plan-preview.ts";
import { planAll } from "../../src/activities/plan-fleets.ts";
import { SPECS, type GitObject } from "../../src/domain/gitops/kinds.ts";
import { readSnapshot } from "../../src/store/gitops.ts";
import { putArtifact } from "../support/row-hosts.ts";
import { applySnapshot, createRolloutWorld, type World } from "../support/rollout-world.ts";

let world: World;
beforeAll(async () => {
  world = await createRolloutWorld();
  for (const version of ["0.160.0", "0.161.0", "0.162.0"]) await putArtifact(world.pool, version);
});
afterAll(() => world.close());
beforeEach(() => world.begin());

const object = (kind: "Fleet" | "RolloutPolicy" | "Blueprint", name: string, spec: object): GitObject =>
  ({
    kind,
    name,
    metadata: { name },
    source: { file: `${name}.yaml`, line: 1 },
    spec: SPECS[kind].parse(spec),
  }) as GitObject;
const objectsOf = (version: string, verbosity = "basic"): GitObject[] => [
  object("Fleet", world.fleet, {
    selector: { matchLabels: { test: world.fleet } },
    blueprint: "base",
    version: { target: version },
    rolloutPolicy: "quick",
  }),
  object("RolloutPolicy", "quick", {
    waves: [
      { name: "canary", upTo: 1 },
      { name: "half", upTo: "50%", approval: "required" },
    ],
    maxConcurrent: 2,
    healthWait: "1m",
  }),
  object("Blueprint", "base", {
    config: {
      receivers: { otlp: { protocols: { grpc: {} } } },
      exporters: { debug: { verbosity } },
      service: { pipelines: { traces: { receivers: ["otlp"], exporters: ["debug"] } } },
    },
  }),
];
const deps = () => ({
  pool: world.pool,
  client: world.client,
  listener: world.listener,
  now: () => new Date(),
  log: { info: () => undefined, warn: () => undefined, error: () => undefined },
});
const preview = (objects: GitObject[], commit: string | null = "next"): Promise<Preview> =>
  previewPlan(world.pool, { commit, objects }, new Date());
const fleetOf = ({ fleets }: Preview) => {
  const [fleet] = fleets;
  if (fleet === undefined) throw new Error("no fleet");
  return fleet;
};
/** Applies and plans as the server does, without any worker. */
async function apply(commit: string, objects: GitObject[]): Promise<void> {
  await applySnapshot(world.pool, commit, objects);
  const snapshot = await readSnapshot(world.pool);
  if (snapshot !== undefined) await planAll(deps(), snapshot, () => undefined);
}
/** Rows of every table that planning writes. */
const everything = async (): Promise<unknown> =>
  (
    await world.pool.query(
      `select (select count(*)::int from rollouts) as rollouts, (select count(*)::int from targets) as targets,
        (select jsonb_agg(f order by f.name) from fleets f) as fleets, (select count(*)::int from configs) as configs,
        (select jsonb_agg(w order by w.host) from wanted w) as wanted, (select count(*)::int from audit) as audit,
        (select count(*)::int from offers) as offers, (select count(*)::int from events) as events`,
    )
  ).rows[0];

test("the targets, their order, from and to are those of the rollout that is made then; nothing is written before", async () => {
  for (let i = 0; i < 7; i += 1) await world.hosts.add(`h${i}`);
  await world.hosts.add("there", "0.161.0");
  await world.hosts.add("newer", "0.162.0");
  await world.hosts.add("bare", "0.160.0", { updater: false });
  const before = await everything();
  const shown = fleetOf(await preview(objectsOf("0.161.0"), `a-${world.fleet}`));
  expect(await everything()).toEqual(before);
  expect(shown).toMatchObject({ outcome: "rollout", up: 8, down: 0, configs: 0, maxConcurrent: 2, catchUp: 10 });
  expect(shown.waves.map(({ name, size, approval }) => [name, size, approval])).toEqual([
    ["canary", 1, "none"],
    ["half", 3, "required"],
    ["rest", 3, "none"],
  ]);
  expect(shown.refused).toMatchObject([{ hostName: "bare", code: "updater_missing" }]);
  expect(shown.leftOut).toMatchObject([{ hostName: "newer", code: "downgrade_not_allowed" }]);
  // One, two and one, two and one batches of a minute's health wait and five minutes.
  expect((shown.endsMs ?? 0) - (shown.startsMs ?? 0)).toBe(5 * 6 * 60_000);

  await apply(`a-${world.fleet}`, objectsOf("0.161.0"));
  const made = await world.targets(1);
  const inPlay = made.filter(({ attempts }) => attempts.at(-1)?.phase === "pending");
  expect(
    shown.targets.map(({ host, fromVersion, toVersion, wayBack }) => [host, fromVersion, toVersion, wayBack]),
  ).toEqual(inPlay.map(({ host, fromVersion, toVersion, wayBack }) => [host, fromVersion, toVersion, wayBack]));
  const again = fleetOf(await preview(objectsOf("0.161.0"), `a-${world.fleet}`));
  expect(again).toMatchObject({ outcome: "nothing", targets: [] });
});

test("over an active rollout it says that this one is superseded, and what follows", async () => {
  for (let i = 0; i < 3; i += 1) await world.hosts.add(`h${i}`);
  await apply(`b-${world.fleet}`, objectsOf("0.161.0"));
  const shown = fleetOf(await preview(objectsOf("0.162.0")));
  expect(shown).toMatchObject({
    outcome: "supersedes",
    up: 3,
    because: "rollout 1 takes no new host, then this follows",
  });
  expect(shown.waves.map(({ size }) => size)).toEqual([1, 1, 1]);
});

test("a held change is shown as held, another one as a rollout; a host without a signed way back is counted", async () => {
  const host = await world.hosts.add("h0", "0.159.0");
  await apply(`c-${world.fleet}`, objectsOf("0.161.0"));
  await world.control("abort", { reason: "bad" }).catch(() => undefined);
  const { endRolloutRow } = await import("../../src/store/rollout-end.ts");
  const { transaction } = await import("../../src/store/database.ts");
  await transaction(world.pool, (tx) => endRolloutRow(tx, world.fleet, 1, "aborted", null, new Date()));
  const held = fleetOf(await preview(objectsOf("0.161.0"), `c-${world.fleet}`));
  expect(held.outcome).toBe("held");
  expect(held.held).toMatchObject({ n: 1 });
  const next = fleetOf(await preview(objectsOf("0.162.0")));
  expect(next).toMatchObject({ outcome: "rollout", up: 1 });
  // The server has no signed artifact of 0.159.0.
  expect(next.withoutWayBack.map((target) => target.host)).toEqual([host.uid]);
});

test("a fleet that the revision does not have: its open rollout would be cancelled, its hosts are unassigned", async () => {
  await world.hosts.add("h0");
  await apply(`d-${world.fleet}`, objectsOf("0.161.0"));
  const shown = await preview([object("Blueprint", "base", { config: {} })]);
  expect(shown.fleets).toEqual([]);
  expect(shown.cancelled).toContainEqual({ fleet: world.fleet, n: 1 });
  expect(shown.unassigned).toBe(1);
});

test("a build that lacks components of the new configuration cannot be offered it", async () => {
  const host = await world.hosts.add("h0", "0.161.0");
  await apply(`e-${world.fleet}`, objectsOf("0.161.0"));
  const { rows } = await world.pool.query<{ hash: Buffer }>("select config_hash as hash from wanted where host = $1", [
    host.uid,
  ]);
  await world.hosts.set("h0", {
    remote_config_hash: rows[0]?.hash,
    remote_config_status: 1,
    components_hash: Buffer.from("aa", "hex"),
  });
  await world.pool.query(
    `insert into component_sets (credential, hash, components, names) values ('token:t', '\\xaa', '{}', '{receivers/otlp}')
     on conflict do nothing`,
  );
  const shown = fleetOf(await preview(objectsOf("0.161.0", "detailed")));
  expect(shown.refused).toMatchObject([{ hostName: "h0", code: "incompatible" }]);
});
