import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createGitRepository, type GitRepository } from "../../test/support/git-repository.ts";
import { myrctl, type Said } from "../../test/support/myrctl.ts";

let repository: GitRepository;
beforeEach(async () => {
  repository = await createGitRepository();
});
afterEach(() => repository.remove());

const object = (kind: string, name: string, spec: string): string =>
  `apiVersion: myriarch.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
const blueprint = (endpoint = "otlp.example.com"): string =>
  object(
    "Blueprint",
    "base",
    `{config: {receivers: {otlp: {}}, exporters: {otlphttp: {endpoint: ${endpoint}, headers: {host: "{{ agent.hostName }}", v: "{{ version }}"}}}, service: {pipelines: {logs: {receivers: [otlp], exporters: [otlphttp]}}}}}`,
  );
const fleet = (name: string, site: string, version = "0.161.0", more = ""): string =>
  object(
    "Fleet",
    name,
    `{selector: {matchLabels: {site: ${site}}}, blueprint: base, version: {target: "${version}"}${more}}`,
  );
const sample = (name: string, site: string): string =>
  `name: ${name}\nattributes: {site: ${site}, host.name: ${name}}\n`;
const FILES = {
  "deploy/blueprints/base.yaml": blueprint(),
  "deploy/fleets/edge.yaml": fleet("edge", "edge"),
  "deploy/fleets/core.yaml": fleet("core", "core"),
  "deploy/samples/agents/all.yaml": [sample("e1", "edge"), sample("e2", "edge"), sample("c1", "core")].join("---\n"),
};
const deploy = (): string => join(repository.work, "deploy");

describe("render", () => {
  const render = (...args: string[]): Promise<Said> => myrctl(["render", ...args]);

  test("one agent: the bytes that the server would send, and nothing else", async () => {
    await repository.write(FILES);
    const { code, out, err } = await render("--fleet", "core", deploy());
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain('host: "c1"'.replaceAll('"c1"', "c1"));
    expect(out).toContain('v: "0.161.0"');
    const [shown] = JSON.parse((await myrctl(["--json", "render", "--fleet", "core", deploy()])).out) as {
      sha256: string;
    }[];
    expect(createHash("sha256").update(out).digest("hex")).toBe(shown?.sha256);
  });

  test("several agents: YAML documents, each with host, version and hash", async () => {
    await repository.write(FILES);
    const { out } = await render("--fleet", "edge", deploy());
    expect(out.match(/^# fleet edge, host e\d, version 0\.161\.0, sha256 [0-9a-f]{64}$/gm)).toHaveLength(2);
    const [first = ""] = out.split("---\n");
    const [header = "", ...lines] = first.split("\n");
    expect(header).toContain(createHash("sha256").update(lines.join("\n")).digest("hex"));
  });

  test("--agent renders for the agents of a file, --collector-version for another version", async () => {
    await repository.write(FILES);
    const agent = join(repository.folder, "agent.yaml");
    await writeFile(agent, sample("new", "edge"));
    const { code, out } = await render(
      "--fleet",
      "edge",
      "--agent",
      agent,
      "--collector-version",
      "v0.170.0",
      deploy(),
    );
    expect(code).toBe(0);
    expect(out).toContain("host: new");
    expect(out).toContain('v: "0.170.0"');
    const other = await render("--fleet", "core", "--agent", agent, deploy());
    expect([other.code, other.out]).toEqual([1, ""]);
    expect(other.err).toContain("fleet core matches no agent of");
  });

  test("an agent that a fleet of higher priority gets is said so", async () => {
    await repository.write({ ...FILES, "deploy/fleets/vip.yaml": fleet("vip", "core", "0.162.0", ", priority: 5") });
    const { code, err } = await render("--fleet", "core", deploy());
    expect([code, err]).toEqual([0, "note: c1 belongs to fleet vip, which has the higher priority\n"]);
  });

  test("--diff compares with another revision of the same repository, for the same agents", async () => {
    await repository.push("one", FILES);
    await repository.write({ "deploy/blueprints/base.yaml": blueprint("new.example.com") });
    const { code, out } = await render("--fleet", "core", "--diff", "HEAD", deploy());
    expect(code).toBe(0);
    expect(out).toMatch(/^--- HEAD \([0-9a-f]{7}\) core\/c1\n\+\+\+ .*deploy core\/c1\n@@/);
    expect(out).toMatch(/^-\s+endpoint: otlp\.example\.com\n\+\s+endpoint: new\.example\.com$/m);
    expect((await render("--fleet", "edge", "--diff", "HEAD", deploy())).out.match(/^---/gm)).toHaveLength(2);
    await repository.push("two");
    expect((await render("--fleet", "core", "--diff", "HEAD", deploy())).out).toMatch(/^no difference/);
    const remote = ["--git", repository.url, "--path", "deploy"];
    expect((await render("--fleet", "core", "--diff", "HEAD~1", ...remote)).out).toContain("new.example.com");
    expect((await render("--fleet", "core", ...remote)).out).toContain("new.example.com");
  });

  test("an invalid repository: its issues on standard error, exit 1", async () => {
    await repository.write({ ...FILES, "deploy/bad.yaml": "a: [" });
    const { code, out, err } = await render("--fleet", "core", deploy());
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain("bad.yaml");
    expect(err).toContain("error invalid_yaml");
  });

  test.each([
    ["an unknown fleet", ["--fleet", "cor"], "Did you mean core?"],
    ["no fleet", [], "--fleet"],
    ["an agent's file that is not there", ["--fleet", "core", "--agent", "nowhere.yaml"], "nowhere.yaml"],
    ["a version that is none", ["--fleet", "core", "--collector-version", "new"], "must be a version"],
    ["a revision that is not there", ["--fleet", "core", "--diff", "nope"], "there is no revision nope"],
    ["a revision that is an option", ["--fleet", "core", "--diff=--all"], "must not begin with -"],
  ])("%s: exit 2 and what to do", async (_, args, says) => {
    await repository.push("one", FILES);
    const { code, out, err } = await render(...args, deploy());
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(says);
  });

  test("an agent's file is judged like a sample, with line and hint", async () => {
    await repository.write(FILES);
    const agent = join(repository.folder, "agent.yaml");
    await writeFile(agent, "name: x\nattributs: {}\n");
    const { code, err } = await render("--fleet", "edge", "--agent", agent, deploy());
    expect(code).toBe(2);
    expect(err).toContain("agent.yaml:2:1: attributs is not a known field (did you mean attributes?)");
  });
});

describe("diff", () => {
  const diff = (...args: string[]): Promise<Said> => myrctl(["diff", ...args]);
  type Compared = {
    objects: { added: string[]; changed: string[]; removed: string[] };
    fleets: { fleet: string; what: string; version?: object; configurations: { samples: string[]; patch: string }[] }[];
  };
  const compared = async (...args: string[]): Promise<Compared> =>
    JSON.parse((await myrctl(["--json", "diff", ...args])).out) as Compared;

  /** v1, then: edge gets a version, core goes, new comes, the blueprint stays but moves. */
  async function twoRevisions(): Promise<void> {
    await repository.push("one", FILES);
    await repository.git("tag", "v1");
    await repository.git("mv", "deploy/blueprints/base.yaml", "deploy/moved.yaml");
    await repository.git("rm", "-q", "deploy/fleets/core.yaml");
    await repository.push("two", {
      "deploy/fleets/edge.yaml": fleet("edge", "edge", "0.162.0"),
      "deploy/fleets/new.yaml": fleet("new", "core"),
    });
    await repository.git("push", "-q", "origin", "v1");
  }

  test("objects by kind and name, versions, and each difference once with its samples", async () => {
    await twoRevisions();
    const { code, out, err } = await diff("v1..HEAD", deploy());
    expect([code, err]).toEqual([0, ""]);
    expect(out.split("\n").slice(1, 4)).toEqual([
      "  added    Fleet/new",
      "  changed  Fleet/edge",
      "  removed  Fleet/core",
    ]);
    expect(out).toContain("fleet edge: 0.161.0 → 0.162.0\nsample e1:\n--- v1 edge/e1\n+++ HEAD edge/e1");
    expect(out).toContain("fleet core: removed; its agents keep what they run");
    expect(out).toContain("fleet new: added, no version → 0.161.0\nsample c1:\n--- /dev/null\n+++ HEAD new/c1");
  });

  test("the same for a local repository, a bare one, a remote; in either direction", async () => {
    await twoRevisions();
    const local = await compared("v1..HEAD", deploy());
    expect(local.objects).toEqual({ added: ["Fleet/new"], changed: ["Fleet/edge"], removed: ["Fleet/core"] });
    expect(await compared("v1..HEAD", repository.bare, "--path", "deploy")).toEqual(local);
    expect(await compared("v1..HEAD", "--git", repository.url, "--path", "deploy")).toEqual(local);
    const back = await compared("HEAD..v1", deploy());
    expect(back.objects).toEqual({ added: ["Fleet/core"], changed: ["Fleet/edge"], removed: ["Fleet/new"] });
  });

  test("samples with the same difference are one", async () => {
    const plain = { ...FILES, "deploy/blueprints/base.yaml": blueprint().replace("{{ agent.hostName }}", "x") };
    await repository.push("one", plain);
    await repository.push("two", { "deploy/fleets/edge.yaml": fleet("edge", "edge", "0.162.0") });
    const { fleets } = await compared("HEAD~1..HEAD", deploy());
    expect(fleets).toMatchObject([{ fleet: "edge", configurations: [{ samples: ["e1", "e2"] }] }]);
  });

  test("without a right side the folder on disk is compared; with one the work tree does not count", async () => {
    await repository.push("one", FILES);
    await repository.write({ "deploy/fleets/edge.yaml": fleet("edge", "edge", "0.163.0") });
    expect((await compared("HEAD..", deploy())).objects.changed).toEqual(["Fleet/edge"]);
    expect((await compared("HEAD..HEAD", deploy())).objects.changed).toEqual([]);
    expect((await diff("HEAD..HEAD", deploy())).out).toContain("no object differs");
  });

  test("an invalid revision on either side: its issues, exit 1", async () => {
    await repository.push("bad", { ...FILES, "deploy/bad.yaml": "a: [" });
    await repository.git("rm", "-q", "deploy/bad.yaml");
    await repository.push("good");
    for (const range of ["HEAD~1..HEAD", "HEAD..HEAD~1"]) {
      const { code, out, err } = await diff(range, deploy());
      expect([code, out]).toEqual([1, ""]);
      expect(err).toContain("bad.yaml");
    }
  });

  test.each([
    ["one revision", ["HEAD"], "REV..REV"],
    ["three dots", ["HEAD...HEAD"], "REV..REV"],
    ["no left side", ["..HEAD"], "the left revision is missing"],
    ["an unknown revision", ["nope..HEAD"], "there is no revision nope"],
    ["an option", ["--", "--all..HEAD"], "must not begin with -"],
  ])("%s: exit 2 and what to do", async (_, args, says) => {
    await repository.push("one", FILES);
    const { code, out, err } = await diff(...args, deploy());
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(says);
  });

  test("a folder outside of any repository, and a remote without a right side: exit 2", async () => {
    await repository.push("one", FILES);
    expect((await diff("a..b", repository.folder)).err).toContain("Give a folder inside of a Git repository");
    expect((await diff("HEAD..", "--git", repository.url)).err).toContain("--git URL has no folder");
  });
});
