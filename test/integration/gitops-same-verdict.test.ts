/**
 * What passes CI is accepted by the server (contract, "How a revision is read and applied"): the same repositories are
 * given to the server's activities, which read a remote and write rows, and to myrctl, as folder and as remote.
 */
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createGitRemote } from "../../src/activities/git-remote.ts";
import { createJudge, DEFAULT_BUDGET, type Judge } from "../../src/activities/git-reader/run-validation.ts";
import { createGitopsActivities, type Judgement } from "../../src/activities/gitops.ts";
import type { Issue } from "../../src/domain/gitops/issue-codes.ts";
import { DEFAULT_LIMITS } from "../../src/domain/gitops/repository-files.ts";
import { readIssues, readJudged } from "../../src/store/gitops.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { CONFIG, createGitRepository, object, type GitRepository } from "../support/git-repository.ts";
import { myrctl } from "../support/myrctl.ts";

let database: TestDatabase;
let repository: GitRepository;
let judge: Judge;
beforeAll(async () => {
  database = await createTestDatabase();
  judge = createJudge(DEFAULT_BUDGET);
});
afterAll(async () => {
  await judge.close();
  await database.drop();
});
beforeEach(async () => {
  repository = await createGitRepository();
});
afterEach(() => repository.remove());

type Judged = Judgement & { commit: string; issues: Issue[]; objects: number | undefined };

/** Fetched, judged and stored as the server does it. */
async function serverJudges(path: string): Promise<Judged> {
  const environment = new MockActivityEnvironment();
  const run = <A extends unknown[], R>(activity: (...args: A) => Promise<R>, ...args: A): Promise<R> =>
    environment.run(activity, ...args);
  const activities = createGitopsActivities({
    pool: database.pool,
    remote: createGitRemote({
      url: repository.url,
      branch: "main",
      path,
      timeoutMs: 20_000,
      cloneDir: join(repository.folder, "clones"),
    }),
    limits: { ...DEFAULT_LIMITS, base: path },
    validate: (files, limits, signal) => judge.validate(files, limits, { signal }),
    now: () => new Date(),
    log: { info: () => undefined, warn: () => undefined },
  });
  const revision = await run(activities.fetchRevision, { again: true });
  const judgement = await run(activities.validateRevision, revision);
  const { commit } = revision;
  const objects = (await readJudged(database.pool, commit))?.objects?.length;
  return { ...judgement, commit, issues: await readIssues(database.pool, commit), objects };
}

type Document = { valid: boolean; objects: number; commit?: string; issues: Issue[] };

async function myrctlJudges(...where: string[]): Promise<Document> {
  const { code, out } = await myrctl(["validate", "--format", "json", ...where]);
  const document = JSON.parse(out) as Document;
  expect(code).toBe(document.valid ? 0 : 1);
  return document;
}

const config = (text: string): string => CONFIG.replace("{debug: {}}", `{debug: ${text}}`);
const blueprint = (spec = `{config: ${CONFIG}}`): string => object("Blueprint", "base", spec);
const fleet = (more = ""): string => object("Fleet", "a", `{selector: {}, blueprint: base${more}}`);
const SAMPLE = "name: s\nattributes: {host.name: s}\n";
const GOOD = { "blueprints/base.yaml": blueprint(), "fleets/a.yaml": fleet(), "samples/agents/s.yaml": SAMPLE };

/** Name, files over the good ones, the codes that are expected. */
const CASES: [string, Record<string, string>, string[]][] = [
  ["a good repository", {}, []],
  [
    "several documents, anchors, comments",
    {
      "fleets/b.yaml": `---\n# none\n---\n${object("Fleet", "b", "&x {selector: {matchLabels: {a: b}}, blueprint: base}")}`,
    },
    ["no_sample_agent"],
  ],
  ["a fleet without sample", { "samples/agents/s.yaml": "" }, ["no_sample_agent"]],
  [
    "a secret in plain text",
    { "blueprints/base.yaml": blueprint(`{config: ${config("{password: hunter2}")}}`) },
    ["plaintext_secret"],
  ],
  ["an unknown field", { "fleets/a.yaml": fleet(", prioritie: 5") }, ["unknown_field"]],
  ["broken YAML beside good", { "fleets/b.yaml": "kind: Fleet\n spec: {}\n" }, ["invalid_yaml"]],
  ["control characters", { "fleets/b.yaml": "\u0000\u0001" }, ["invalid_value", "missing_field", "missing_field"]],
  [
    "a NUL and half a character in a field's name",
    { "fleets/a.yaml": fleet(String.raw`, "a\0b\ud800": 1`) },
    ["invalid_value", "unknown_field"],
  ],
  ["a duplicate", { "fleets/b.yaml": fleet() }, ["duplicate_object"]],
  ["an unknown blueprint", { "fleets/a.yaml": fleet().replace("base", "bsae") }, ["unknown_reference"]],
  ["a cycle", { "blueprints/base.yaml": blueprint(`{extends: base, config: ${CONFIG}}`) }, ["extends_cycle"]],
  [
    "a template that does not compile",
    { "blueprints/base.yaml": blueprint(`{config: ${config('{a: "{{ nope"}')}}`) },
    ["template_error"],
  ],
  [
    "a template that does not render",
    { "blueprints/base.yaml": blueprint(`{config: ${config('{a: "{{ agent.nope.x }}"}')}}`) },
    ["template_error"],
  ],
  [
    "a configuration without pipelines",
    { "blueprints/base.yaml": blueprint("{config: {receivers: {otlp: {}}}}") },
    ["invalid_config"],
  ],
  [
    "a missing parameter",
    { "blueprints/base.yaml": blueprint(`{parameters: {p: {type: string, required: true}}, config: ${CONFIG}}`) },
    ["missing_parameter"],
  ],
  ["a version that is a number", { "fleets/a.yaml": fleet(", version: {target: 0.161}") }, ["version_not_quoted"]],
  [
    "a host in two entries",
    { "inventory/i.yaml": object("Inventory", "i", "{entries: [{host: a}, {host: A}]}") },
    ["duplicate_entry"],
  ],
  [
    "a sample that is none",
    { "samples/agents/s.yaml": "name: s\nattributs: {}\n" },
    ["unknown_field", "no_sample_agent"],
  ],
  ["an unknown kind", { "x.yaml": object("Flet", "x", "{}") }, ["unknown_kind"]],
  ["a file that is too large", { "x.yaml": `a: ${"x".repeat(4 * 1024 * 1024)}\n` }, ["file_too_large"]],
];

describe.each([
  ["at the root", ""],
  ["below gitops.path", "deploy/fleets"],
])("%s", (_, path) => {
  test.each(path === "" ? CASES : CASES.slice(0, 6))(
    "%s: the server and myrctl find the same",
    async (_, files, codes) => {
      const placed = Object.entries({ ...GOOD, ...files }).map(([name, text]) => [join(path, name), text]);
      const commit = await repository.push("case", Object.fromEntries(placed) as Record<string, string>);
      await same(path, commit, codes);
    },
  );

  test("a symbolic link", async () => {
    const placed = Object.entries(GOOD).map(([name, text]) => [join(path, name), text]);
    await repository.write(Object.fromEntries(placed) as Record<string, string>);
    await symlink("/etc/passwd", join(repository.work, path, "link.yaml"));
    const commit = await repository.push("link");
    await same(path, commit, ["not_regular_file"]);
  });
});

async function same(path: string, commit: string, codes: readonly string[]): Promise<void> {
  const server = await serverJudges(path);
  expect(server.issues.map(({ code }) => code).toSorted()).toEqual([...codes].toSorted());
  const where = path === "" ? [] : ["--path", path];
  const remote = await myrctlJudges("--git", repository.url, ...where);
  const folder = await myrctlJudges(repository.work, ...where);
  for (const mine of [remote, folder]) {
    expect(mine.issues).toEqual(server.issues);
    expect(mine.valid).toBe(server.valid);
    if (server.valid) expect(mine.objects).toBe(server.objects);
  }
  expect([server.commit, remote.commit]).toEqual([commit, commit]);
}
