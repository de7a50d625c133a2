import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { createGitRepository } from "../../test/support/git-repository.ts";
import { myrctl } from "../../test/support/myrctl.ts";
import { jsonSchemas } from "../domain/gitops/json-schema.ts";

/** Of tests that start real processes, on a machine with other work. */
const PATIENCE_MS = 120_000;
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-init-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function filesOf(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

describe("init", () => {
  test("writes a repository that is valid without a warning, and says what to do next", async () => {
    const demo = join(folder, "demo");
    const { code, out, err } = await myrctl(["init", demo], { npm_command: "exec" });
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain(`npx myrctl validate ${demo}`);
    const validated = await myrctl(["validate", demo, "--strict"]);
    expect(validated).toMatchObject({ code: 0, err: "" });
    expect(validated.out).toContain("0 errors, 0 warnings");
    const rendered = await myrctl(["render", "--fleet", "linux", demo]);
    expect(rendered.code).toBe(0);
  });

  test("each file names its schema, which is there and is the one of its kind", async () => {
    await myrctl(["init", folder]);
    const files = (await filesOf(folder)).filter((path) => path.endsWith(".yaml") && !path.startsWith("."));
    expect(files.length).toBeGreaterThan(4);
    for (const path of files) {
      const text = await readFile(join(folder, path), "utf8");
      const named = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text)?.[1] ?? "";
      const schema = join(folder, dirname(path), named);
      expect(JSON.parse(await readFile(schema, "utf8"))).toEqual(jsonSchemas()[named.split("/").at(-1) ?? ""]);
      const kind = /^kind: (\w+)$/m.exec(text)?.[1] ?? "SampleAgent";
      expect(named.replaceAll("-", "")).toContain(`/.schema/${kind.toLowerCase()}.schema.json`);
    }
  });

  test("a folder that is not empty is refused; --force adds what is missing and changes nothing", async () => {
    await mkdir(join(folder, "fleets"));
    await writeFile(join(folder, "fleets", "linux.yaml"), "mine");
    const refused = await myrctl(["init", folder]);
    expect([refused.code, refused.out]).toEqual([2, ""]);
    expect(refused.err).toContain("--force");
    expect(await filesOf(folder)).toEqual([join("fleets", "linux.yaml")]);
    const { code, out } = await myrctl(["init", folder, "--force"]);
    expect(code).toBe(0);
    expect(out).toContain(`left as they are:\n  ${join("fleets", "linux.yaml")}\n`);
    expect(await readFile(join(folder, "fleets", "linux.yaml"), "utf8")).toBe("mine");
    expect(await filesOf(folder)).toContain("README.md");
  });

  test("a clone with nothing in it is as good as empty", async () => {
    await mkdir(join(folder, ".git"));
    expect((await myrctl(["init", folder])).code).toBe(0);
  });
});

describe("the CI files of the starter", () => {
  type GitHub = { env: Record<string, string>; jobs: { validate: { steps: { run?: string }[] } } };
  type GitLab = {
    variables: Record<string, string>;
    default: { before_script: string[] };
    validate: { script: string[]; artifacts: { reports: { codequality: string } } };
    changes: { script: string[] };
  };
  const read = async <T>(path: string): Promise<T> => parse(await readFile(join(folder, path), "utf8")) as T;
  const shell = promisify(execFile);
  const environment = { PATH: process.env["PATH"], HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" };
  const run = (script: string, env: NodeJS.ProcessEnv): Promise<{ stdout: string }> =>
    shell("sh", ["-e", "-c", script], { cwd: folder, env: { ...environment, ...env } });
  const failing = (script: string, env: NodeJS.ProcessEnv): Promise<{ code: number; stderr: string }> =>
    run(script, env).then(
      () => ({ code: 0, stderr: "" }),
      (error: unknown) => error as { code: number; stderr: string },
    );
  async function scripts(): Promise<{ get: string[]; validate: string[]; diff: string[] }> {
    await myrctl(["init", folder]);
    const github = await read<GitHub>(".github/workflows/validate.yml");
    const gitlab = await read<GitLab>(".gitlab-ci.yml");
    const steps = github.jobs.validate.steps.flatMap(({ run }) => (run === undefined ? [] : [run]));
    expect(steps).toHaveLength(3);
    return {
      get: [steps[0] ?? "", gitlab.default.before_script.join("\n")],
      validate: [steps[1] ?? "", gitlab.validate.script.join("\n")],
      diff: [steps[2] ?? "", gitlab.changes.script.join("\n")],
    };
  }

  test(
    "validate: passes on the starter, and fails with a report when a file is broken",
    async () => {
      const { validate } = await scripts();
      for (const script of validate) {
        expect((await run(script, { MYRIARCH_DIR: ROOT })).stdout).toMatch(/^valid: /m);
      }
      await writeFile(join(folder, "fleets", "bad.yaml"), "kind: Fleet\n");
      for (const script of validate) expect((await failing(script, { MYRIARCH_DIR: ROOT })).code).toBe(1);
      const { validate: job } = await read<GitLab>(".gitlab-ci.yml");
      const report = JSON.parse(await readFile(join(folder, job.artifacts.reports.codequality), "utf8")) as object[];
      expect(report[0]).toMatchObject({ location: { path: "fleets/bad.yaml" } });
    },
    PATIENCE_MS,
  );

  test(
    "diff: compares the target branch with what is merged",
    async () => {
      const { diff } = await scripts();
      const commits = [
        "git init -q -b main .",
        "git config user.name Kim && git config user.email kim@example.com && git add -A && git commit -q -m one",
        "git update-ref refs/remotes/origin/main HEAD",
        "sed -i 's/0.161.0/0.162.0/' fleets/linux.yaml && git commit -q -a -m two",
      ];
      await run(commits.join("\n"), {});
      const env = { MYRIARCH_DIR: ROOT, GITHUB_BASE_REF: "main", CI_MERGE_REQUEST_DIFF_BASE_SHA: "HEAD~1" };
      for (const script of diff) expect((await run(script, env)).stdout).toContain("fleet linux: 0.161.0 → 0.162.0");
    },
    PATIENCE_MS,
  );

  test("getting myrctl: the named revision of the named repository; without the variables a sentence", async () => {
    const { get } = await scripts();
    const repository = await createGitRepository();
    try {
      const commit = await repository.push("one", { "scripts/bin/myrctl.mjs": "" });
      for (const [at, script] of get.entries()) {
        const MYRIARCH_DIR = join(folder, `fetched-${at}`);
        for (const MYRIARCH_REF of [commit, "main"]) {
          await run(script, { MYRIARCH_DIR, MYRIARCH_REPOSITORY: repository.url, MYRIARCH_REF });
          expect(await readdir(join(MYRIARCH_DIR, "scripts", "bin"))).toEqual(["myrctl.mjs"]);
        }
        const { code, stderr } = await failing(script, { MYRIARCH_DIR });
        expect(code).not.toBe(0);
        expect(stderr).toContain("MYRIARCH_REPOSITORY: is not set, see the comment above");
      }
    } finally {
      await repository.remove();
    }
  });
});

describe("schema", () => {
  test("--out writes one file per kind, one for samples and the combined one", async () => {
    const out = join(folder, "made", ".schema");
    expect(await myrctl(["schema", "--out", out])).toMatchObject({ code: 0, err: "" });
    for (const [name, schema] of Object.entries(jsonSchemas())) {
      expect(JSON.parse(await readFile(join(out, name), "utf8"))).toEqual(schema);
    }
    expect((await readdir(out)).toSorted()).toEqual(Object.keys(jsonSchemas()).toSorted());
  });
  test("--kind writes or prints one, and without --out the combined one is printed", async () => {
    expect(JSON.parse((await myrctl(["schema"])).out)).toEqual(jsonSchemas()["myriarch.schema.json"]);
    const one = await myrctl(["schema", "--kind", "RolloutPolicy"]);
    expect(JSON.parse(one.out)).toEqual(jsonSchemas()["rollout-policy.schema.json"]);
    await myrctl(["schema", "--kind", "sample-agent", "--out", folder]);
    expect(await readdir(folder)).toEqual(["sample-agent.schema.json"]);
  });
  test("an unknown kind and a folder that cannot be written: exit 2", async () => {
    expect((await myrctl(["schema", "--kind", "Flet"])).code).toBe(2);
    await writeFile(join(folder, "file"), "");
    const { code, out, err } = await myrctl(["schema", "--out", join(folder, "file", "x")]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/^myrctl: ENOTDIR/);
  });
});
