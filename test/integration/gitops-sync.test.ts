import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CancelledFailure } from "@temporalio/common";
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createGitRemote } from "../../src/activities/git-remote.ts";
import {
  createGitopsActivities,
  type Applied,
  type Fetched,
  type GitopsActivities,
} from "../../src/activities/gitops.ts";
import { DEFAULT_LIMITS } from "../../src/domain/gitops/repository-files.ts";
import { assignAgents } from "../../src/domain/fleet/assign.ts";
import { isBlocking, validateRevision } from "../../src/domain/gitops/validate.ts";
import { listAudit } from "../../src/store/audit-read.ts";
import { noteDelivery, readGitopsState, readIssues, readSnapshot } from "../../src/store/gitops.ts";
import { listNotifications } from "../../src/store/notifications.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { CONFIG, createGitRepository, object, type GitRepository } from "../support/git-repository.ts";

let database: TestDatabase;
let repository: GitRepository;
let activities: GitopsActivities;
let environment: MockActivityEnvironment;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool.query(
    `delete from snapshots; delete from gitops_revisions; delete from gitops_issues; delete from events;
     delete from notifications`,
  );
  await database.pool.query("delete from gitops_state; insert into gitops_state default values");
  repository = await createGitRepository();
  environment = new MockActivityEnvironment();
  activities = activitiesFor("file");
});
afterEach(() => repository.remove());

const activitiesFor = (kind: "file" | "nowhere"): GitopsActivities =>
  createGitopsActivities({
    pool: database.pool,
    remote: createGitRemote({
      url: kind === "file" ? repository.url : `file://${repository.folder}/nowhere.git`,
      branch: "main",
      path: "",
      timeoutMs: 20_000,
      cloneDir: join(repository.folder, "clones"),
    }),
    limits: DEFAULT_LIMITS,
    validate: async (files, limits) => validateRevision(files, limits),
    now: () => new Date(),
    log: { info: () => undefined, warn: () => undefined },
  });

const run = <A extends unknown[], R>(activity: (...args: A) => Promise<R>, ...args: A): Promise<R> =>
  environment.run(activity, ...args);
const fetch = (again = false): Promise<Fetched> => run(activities.fetchRevision, { again });
const apply = (revision: Fetched): Promise<Applied> => run(activities.applyRevision, revision);
/** One round of the workflow's stages. */
async function sync(): Promise<"unchanged" | "rejected" | Applied> {
  const revision = await fetch();
  if (revision.unchanged) return "unchanged";
  const judgement = await run(activities.validateRevision, revision);
  return judgement.valid ? apply(revision) : "rejected";
}
const notifications = async () =>
  (await listNotifications(database.pool, { limit: 10 })).map(({ kind, data }) => ({ kind, ...data }));
const audited = async () =>
  (await listAudit(database.pool, { action: "gitops.apply", before: undefined, limit: 10 })).map(
    ({ detail }) => detail,
  );

const fleet = (name: string, version = "0.161.0"): string =>
  object("Fleet", name, `{selector: {}, blueprint: base, version: {target: "${version}"}}`);
const FILES = {
  "blueprints/base.yaml": object("Blueprint", "base", `{config: ${CONFIG}}`),
  "fleets/a.yaml": fleet("a"),
};

test("a valid commit becomes the snapshot in one step, audited with what it added, changed and removed", async () => {
  const first = await repository.push("The fleet", FILES);
  expect(await sync()).toEqual({ applied: true, because: null, added: 2, changed: 0, removed: 0 });
  expect(await readSnapshot(database.pool)).toMatchObject({
    commit: first,
    generation: 1,
    author: "Kim Tester",
    subject: "The fleet",
  });
  await repository.git("rm", "-q", "fleets/a.yaml");
  const second = await repository.push("Another fleet", {
    "fleets/b.yaml": fleet("b"),
    "blueprints/base.yaml": object("Blueprint", "base", `{parameters: {x: {type: string}}, config: ${CONFIG}}`),
  });
  expect(await sync()).toMatchObject({ added: 1, changed: 1, removed: 1 });
  expect((await audited())[0]).toMatchObject({
    commit: second,
    previous: first,
    added: ["Fleet/b"],
    changed: ["Blueprint/base"],
    removed: ["Fleet/a"],
  });
  expect(await readGitopsState(database.pool)).toMatchObject({
    state: "ok",
    appliedCommit: second,
    seenCommit: second,
    generation: 2,
    errorCode: null,
  });
  expect(await sync()).toBe("unchanged");
});

test("an invalid commit changes nothing, is explained with file and line, and is announced exactly once", async () => {
  const good = await repository.push("good", FILES);
  await sync();
  const bad = await repository.push("bad", {
    "fleets/a.yaml": fleet("a", "0.162.0"),
    "fleets/new.yaml": "kind: Fleet\n spec: {}\n",
  });
  expect(await sync()).toBe("rejected");
  expect(await sync()).toBe("unchanged");
  expect(await sync()).toBe("unchanged");
  const state = await readGitopsState(database.pool);
  expect(state).toMatchObject({
    state: "error",
    errorCode: "invalid_revision",
    appliedCommit: good,
    seenCommit: bad,
    rejectedCommit: bad,
    generation: 1,
  });
  expect((await readSnapshot(database.pool))?.commit).toBe(good);
  const errors = (await readIssues(database.pool, bad)).filter(isBlocking);
  expect(errors).toMatchObject([{ code: "invalid_yaml", file: "fleets/new.yaml", line: 2 }]);
  expect(await notifications()).toMatchObject([{ kind: "invalid_revision", commit: bad, errors: 1 }]);
  const fixed = await repository.push("fixed", { "fleets/new.yaml": fleet("new") });
  expect(await sync()).toMatchObject({ applied: true });
  expect(await readGitopsState(database.pool)).toMatchObject({
    state: "ok",
    appliedCommit: fixed,
    rejectedCommit: null,
    errorMessage: null,
  });
});

test("a sync on demand judges a refused head once more, without a second announcement", async () => {
  await repository.push("bad", { "fleets/new.yaml": "a: [\n" });
  expect(await sync()).toBe("rejected");
  const again = await fetch(true);
  expect(again.unchanged).toBe(false);
  expect(await run(activities.validateRevision, again)).toMatchObject({
    valid: false,
    errors: 1,
    first: expect.stringContaining("fleets/new.yaml:2") as string,
  });
  expect(await notifications()).toHaveLength(1);
});

test("a revision that comes back is not announced again; warnings are stored with the revision and shown", async () => {
  const bad = await repository.push("bad", { "fleets/new.yaml": "a: [\n" });
  await sync();
  await repository.git("rm", "-q", "fleets/new.yaml");
  const good = await repository.push("good", FILES);
  expect(await sync()).toMatchObject({ applied: true });
  // no sample agent: a warning, which does not block
  expect(await readIssues(database.pool, good)).toMatchObject([{ code: "no_sample_agent", severity: "warning" }]);
  await repository.git("push", "-q", "--force", "origin", `${bad}:main`);
  expect(await sync()).toBe("rejected");
  expect(await notifications()).toHaveLength(1);
});

test("a revert to the commit in force clears the error without a new snapshot", async () => {
  const good = await repository.push("good", FILES);
  await sync();
  await repository.push("bad", { "fleets/new.yaml": "a: [\n" });
  await sync();
  await repository.git("push", "-q", "--force", "origin", `${good}:main`);
  expect(await sync()).toBe("unchanged");
  expect(await readGitopsState(database.pool)).toMatchObject({
    state: "ok",
    appliedCommit: good,
    generation: 1,
    rejectedCommit: null,
  });
});

test("a force-push is applied as the new head; going back to an older commit is a new generation", async () => {
  const one = await repository.push("one", FILES);
  await sync();
  await repository.write({ "fleets/a.yaml": fleet("a", "0.162.0") });
  await repository.git("commit", "-q", "-a", "--amend", "-m", "rewritten");
  await repository.git("push", "-q", "--force", "origin", "HEAD:main");
  const two = await repository.git("rev-parse", "HEAD");
  expect(await sync()).toMatchObject({ changed: 1 });
  await repository.git("push", "-q", "--force", "origin", `${one}:main`);
  expect(await sync()).toMatchObject({ changed: 1 });
  expect(await readSnapshot(database.pool)).toMatchObject({ commit: one, generation: 3 });
  expect((await audited()).slice(0, 2).map((detail) => detail["commit"])).toEqual([one, two]);
});

test("moving an object to another file is no change, and nobody is reassigned", async () => {
  await repository.push("one", FILES);
  await sync();
  const host = {
    uid: "u",
    hostName: "h",
    os: "linux",
    arch: "amd64",
    serviceName: "otelcol-contrib",
    version: "",
    credential: "token:t",
    credentialLabels: {},
    attributes: {},
  };
  const before = assignAgents((await readSnapshot(database.pool)) ?? { objects: [] }, [host]);
  await repository.git("rm", "-q", "--cached", "fleets/a.yaml");
  await repository.push("moved", { "fleets/eu/b.yaml": fleet("a"), ".gitignore": "fleets/a.yaml\n" });
  expect(await sync()).toMatchObject({ applied: true, added: 0, changed: 0, removed: 0 });
  const snapshot = await readSnapshot(database.pool);
  expect(snapshot?.objects.find(({ kind }) => kind === "Fleet")?.source.file).toBe("fleets/eu/b.yaml");
  expect(assignAgents(snapshot ?? { objects: [] }, [host])).toEqual(before);
});

test("an unreachable repository is sync_failed and keeps the snapshot; when it is back the next poll applies", async () => {
  const good = await repository.push("good", FILES);
  await sync();
  activities = activitiesFor("nowhere");
  const failure: unknown = await fetch().catch((error: unknown) => error);
  expect(failure).toMatchObject({ type: "sync_failed", nonRetryable: true });
  await run(activities.recordSyncFailure, { message: "the repository could not be read" });
  await run(activities.recordSyncFailure, { message: "the repository could not be read" });
  expect(await readGitopsState(database.pool)).toMatchObject({
    state: "error",
    errorCode: "sync_failed",
    appliedCommit: good,
  });
  activities = activitiesFor("file");
  expect(await sync()).toBe("unchanged");
  expect(await readGitopsState(database.pool)).toMatchObject({ state: "ok", errorCode: null });
});

test("a failed fetch after a refused revision says so, and then shows the refusal again", async () => {
  await repository.push("bad", { "fleets/new.yaml": "a: [\n" });
  await sync();
  await run(activities.recordSyncFailure, { message: "away" });
  expect(await readGitopsState(database.pool)).toMatchObject({ errorCode: "sync_failed", errorMessage: "away" });
  expect(await sync()).toBe("unchanged");
  expect(await readGitopsState(database.pool)).toMatchObject({ state: "error", errorCode: "invalid_revision" });
});

test("an apply that comes late, twice or after another one changes nothing more", async () => {
  await repository.push("one", FILES);
  const late = await fetch();
  await run(activities.validateRevision, late);
  expect(await apply(late)).toMatchObject({ applied: true, added: 2 });
  expect(await apply(late)).toMatchObject({ applied: true, added: 2 });
  expect((await readSnapshot(database.pool))?.generation).toBe(1);
  await repository.push("two", { "fleets/b.yaml": fleet("b") });
  expect(await sync()).toMatchObject({ applied: true });
  expect(await apply(late)).toEqual({
    applied: false,
    because: "another revision was applied meanwhile",
    added: 0,
    changed: 0,
    removed: 0,
  });
  expect((await readSnapshot(database.pool))?.generation).toBe(2);
});

test("two applies at once: exactly one of them is the change", async () => {
  // a message of its own: the same files in the same second are the same commit as another test's
  await repository.push("applied by several", FILES);
  const revision = await fetch();
  await run(activities.validateRevision, revision);
  await Promise.all(
    Array.from({ length: 8 }, () => new MockActivityEnvironment().run(activities.applyRevision, revision)),
  );
  expect((await readGitopsState(database.pool)).generation).toBe(1);
  const { rows } = await database.pool.query(
    "select count(*)::int as n from audit where action = 'gitops.apply' and object = $1",
    [`commit:${revision.commit}`],
  );
  expect(rows).toEqual([{ n: 1 }]);
});

test("only a delivery that came before the fetch is answered by it", async () => {
  await repository.push("one", FILES);
  await noteDelivery(database.pool, new Date(Date.now() - 1_000));
  await fetch();
  expect((await readGitopsState(database.pool)).deliveryAt).toBeNull();
  await noteDelivery(database.pool, new Date(Date.now() + 60_000));
  await fetch();
  expect((await readGitopsState(database.pool)).deliveryAt).not.toBeNull();
});

test("locks that a dead git left do not stop the sync", async () => {
  await repository.push("one", FILES);
  await sync();
  const clones = join(repository.folder, "clones");
  for (const lock of ["index.lock", "shallow.lock"])
    await writeFile(join(clones, readdirSync(clones)[0] ?? "", lock), "");
  await repository.push("two", { "fleets/a.yaml": fleet("a", "0.162.0") });
  expect(await sync()).toMatchObject({ applied: true, changed: 1 });
});

test("a worker that stops ends its git at once, and the repository is not blamed", async () => {
  await repository.push("one", FILES);
  const fetching = run(activities.fetchRevision, { again: false });
  environment.cancel();
  await expect(fetching).rejects.toBeInstanceOf(CancelledFailure);
  expect((await readGitopsState(database.pool)).state).toBe("never");
});
