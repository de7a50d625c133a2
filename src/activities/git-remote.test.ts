import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createGitRepository, type GitRepository } from "../../test/support/git-repository.ts";
import { DEFAULT_LIMITS } from "../domain/gitops/repository-files.ts";
import { createGitRemote, type GitRemote, type GitRemoteSettings } from "./git-remote.ts";

let repository: GitRepository;
let closing: (() => void)[] = [];
beforeEach(async () => {
  repository = await createGitRepository();
});
afterEach(async () => {
  for (const close of closing) close();
  closing = [];
  await repository.remove();
});

const remote = (more: Partial<GitRemoteSettings> = {}): GitRemote =>
  createGitRemote({
    url: repository.url,
    branch: "main",
    path: "",
    timeoutMs: 20_000,
    cloneDir: join(repository.folder, "clones"),
    ...more,
  });
const cloneFolder = (): string => {
  const [name = ""] = readdirSync(join(repository.folder, "clones")).filter((it) => it.endsWith(".git"));
  return join(repository.folder, "clones", name);
};
const names = async (from: GitRemote, commit: string): Promise<string[]> =>
  (await from.readRevision(commit, DEFAULT_LIMITS)).map(
    ({ path, mode, bytes }) => `${mode} ${path}${bytes === undefined ? "" : " read"}`,
  );

test("the head's commit, author and subject are fetched, and exactly the files of validation are read", async () => {
  const commit = await repository.push("Ünïcode subject\n\nbody", {
    "fleets/a.yaml": "a: 1\n",
    "README.md": "x",
    "samples/agents/s.yml": "name: s\n",
    ".ci/x.yaml": "x",
  });
  const from = remote();
  expect(await from.fetchHead()).toEqual({ commit, author: "Kim Tester", subject: "Ünïcode subject" });
  expect(await names(from, commit)).toEqual([
    "100644 .ci/x.yaml",
    "100644 README.md",
    "100644 fleets/a.yaml read",
    "100644 samples/agents/s.yml read",
  ]);
  const [file] = (await from.readRevision(commit, DEFAULT_LIMITS)).filter(({ path }) => path === "fleets/a.yaml");
  expect(Buffer.from(file?.bytes ?? []).toString()).toBe("a: 1\n");
});

test("files keep every byte, also those that are no text, and empty ones", async () => {
  const odd = Buffer.from([0xff, 0xfe, 0, 10, 13, 10, 0x80]);
  await repository.write({ "empty.yaml": "" });
  await writeFile(join(repository.work, "odd.yaml"), odd);
  const commit = await repository.push("odd");
  const files = await remote().readRevision(commit, DEFAULT_LIMITS);
  expect(files.map(({ bytes }) => Buffer.from(bytes ?? [1]).toString("hex"))).toEqual(["", odd.toString("hex")]);
});

test("a force-push is simply the new head: no merge, no error", async () => {
  const first = await repository.push("one", { "a.yaml": "a: 1\n" });
  const from = remote();
  expect((await from.fetchHead()).commit).toBe(first);
  await repository.write({ "a.yaml": "a: 2\n" });
  await repository.git("commit", "-q", "-a", "--amend", "-m", "rewritten");
  await repository.git("push", "-q", "--force", "origin", "HEAD:main");
  const head = await from.fetchHead();
  expect(head.subject).toBe("rewritten");
  const [file] = await from.readRevision(head.commit, DEFAULT_LIMITS);
  expect(Buffer.from(file?.bytes ?? []).toString()).toBe("a: 2\n");
});

test("locks that a dead git left are removed before the next fetch", async () => {
  await repository.push("one", { "a.yaml": "a: 1\n" });
  const from = remote();
  await from.fetchHead();
  for (const lock of ["index.lock", "shallow.lock", "refs/myriarch/head.lock", "packed-refs.lock", "config.lock"]) {
    await writeFile(join(cloneFolder(), lock), "");
  }
  const second = await repository.push("two", { "a.yaml": "a: 2\n" });
  expect((await from.fetchHead()).commit).toBe(second);
});

test("a clone that was cut or emptied is made anew at the next poll", async () => {
  const commit = await repository.push("one", { "a.yaml": "a: 1\n" });
  const from = remote();
  await from.fetchHead();
  await writeFile(join(cloneFolder(), "HEAD"), "");
  await expect(from.fetchHead()).rejects.toMatchObject({ code: "sync_failed" });
  expect((await from.fetchHead()).commit).toBe(commit);
  for (const pack of readdirSync(join(cloneFolder(), "objects"), { recursive: true }) as string[]) {
    const path = join(cloneFolder(), "objects", pack);
    if (/\.(pack|idx)$|\/[0-9a-f]{38}$/.test(path)) execFileSync("truncate", ["-s", "8", path]);
  }
  await expect(from.readRevision(commit, DEFAULT_LIMITS)).rejects.toMatchObject({ code: "sync_failed" });
  expect(await names(from, commit)).toEqual(["100644 a.yaml read"]);
});

test("a clone that was interrupted leaves nothing behind", async () => {
  // no process has the greatest number that Linux gives plus one
  const left = `${"0".repeat(16)}-${hostname()}-4194305-00000000`;
  for (const name of [`${left}.part`, `${left}.git`])
    await mkdir(join(repository.folder, "clones", name), { recursive: true });
  await repository.push("one", { "a.yaml": "a: 1\n" });
  await remote().fetchHead();
  expect(readdirSync(join(repository.folder, "clones"))).toEqual([cloneFolder().split("/").at(-1)]);
  await expect(remote({ url: `file://${repository.folder}/nowhere.git` }).fetchHead()).rejects.toThrow();
  expect(readdirSync(join(repository.folder, "clones"))).toHaveLength(1);
});

const unreadable: [string, Partial<GitRemoteSettings>, string][] = [
  ["an unknown branch", { branch: "nope" }, "nope"],
  ["a path that does not exist", { path: "deploy" }, "deploy"],
  ["a path that is a file", { path: "a.yaml" }, "a.yaml"],
  ["a path without YAML", { path: "docs" }, "no YAML file"],
];
test.each(unreadable)("%s is sync_failed, never an empty revision", async (_, settings, message) => {
  await repository.push("one", { "a.yaml": "a: 1\n", "docs/x.md": "x" });
  const from = remote(settings);
  const reading = from.fetchHead().then(({ commit }) => from.readRevision(commit, DEFAULT_LIMITS));
  await expect(reading).rejects.toMatchObject({
    code: "sync_failed",
    message: expect.stringContaining(message) as string,
  });
});

test("only what lies at and below gitops.path is listed; symbolic links and submodules come with their mode", async () => {
  await repository.write({ "deploy/a.yaml": "a: 1\n", "b.yaml": "b: 1\n" });
  await symlink("a.yaml", join(repository.work, "deploy", "link.yaml"));
  await repository.git("add", "-A");
  await repository.git("update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},deploy/sub`);
  await repository.git("commit", "-q", "-m", "links");
  await repository.git("push", "-q", "origin", "HEAD:main");
  const from = remote({ path: "deploy" });
  const { commit } = await from.fetchHead();
  expect(await names(from, commit)).toEqual(["100644 a.yaml read", "120000 link.yaml", "160000 sub"]);
});

describe("what may not reach git", () => {
  test("a branch that is an option is refused before any process starts", async () => {
    const mark = join(repository.folder, "pwned");
    expect(() => remote({ branch: `--upload-pack=touch ${mark}` })).toThrow("gitops.branch");
    expect(existsSync(mark)).toBe(false);
  });
  test.each(["-u", "", "a b", "a..b", "a~1", "x.lock", "a/.b", "@", "a@{1}", "refs/*", "a\nb", "/a", "a/"])(
    "the branch %j",
    (branch) => {
      expect(() => remote({ branch })).toThrow("gitops.branch");
    },
  );
  test.each([
    "ext::sh -c touch% /tmp/x",
    "ext::sh",
    "--upload-pack=x",
    "-x",
    "https://u:p@x/y",
    "ftp://x/y",
    "ssh://-oProxyCommand=x/y",
    "",
    "not a url",
    "x",
    "https://x/\n",
  ])("the URL %j", (url) => {
    expect(() => remote({ url })).toThrow("gitops.url");
  });
  test.each(["../x", "/x", "x/", "a//b", "./a"])("the path %j", (path) => {
    expect(() => remote({ path })).toThrow("gitops.path");
  });
  test.each(["lb-auto-voc", "feature/x_1", "release-1.2", "ünï"])("the harmless branch %s works", async (branch) => {
    await repository.push("one", { "a.yaml": "a: 1\n" });
    await repository.git("push", "-q", "origin", `HEAD:refs/heads/${branch}`);
    expect((await remote({ branch }).fetchHead()).subject).toBe("one");
  });
  test.each([
    "https://git.example.com/a/b.git",
    "ssh://git@host:22/x.git",
    "git@host:team/x.git",
    "/srv/git/x.git",
    "/srv/git and more/x.git",
    "https://user@git.example.com/x.git",
    "file:///srv/x.git",
    "git://host/x",
  ])("the URL %s is accepted", (url) => {
    expect(() => remote({ url })).not.toThrow();
  });
});

test("hooks and settings of the account do not run", async () => {
  await repository.push("one", { "a.yaml": "a: 1\n" });
  const from = remote();
  await from.fetchHead();
  const config = await readFile(join(cloneFolder(), "config"), "utf8");
  expect(config).toContain("bare = true");
  expect(existsSync(join(cloneFolder(), "hooks"))).toBe(false);
});

describe("a server that accepts and stays silent", () => {
  const silent = async (): Promise<{ server: Server; port: number }> => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => server.close());
    return { server, port: (server.address() as { port: number }).port };
  };
  const children = (port: number): string[] =>
    readdirSync("/proc")
      .filter((pid) => /^\d+$/.test(pid))
      .flatMap((pid) => {
        try {
          const line = execFileSync("cat", [`/proc/${pid}/cmdline`], { stdio: ["ignore", "pipe", "ignore"] })
            .toString()
            .replaceAll("\0", " ");
          return /git|ssh/.test(line) && line.includes(String(port)) ? [line] : [];
        } catch {
          return []; // it ended meanwhile
        }
      });

  test.each(["git", "http", "ssh"])("over %s the fetch ends by its time limit and no child is left", async (scheme) => {
    const { port } = await silent();
    const from = remote({ url: `${scheme}://127.0.0.1:${port}/x.git`, timeoutMs: 1_500 });
    const started = performance.now();
    await expect(from.fetchHead()).rejects.toMatchObject({ code: "sync_failed" });
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(children(port)).toEqual([]);
  });

  test("cancelling ends it too, and when the server is back the next fetch works", async () => {
    const { port } = await silent();
    const abort = new AbortController();
    const fetching = remote({ url: `git://127.0.0.1:${port}/x.git` }).fetchHead(abort.signal);
    abort.abort();
    await expect(fetching).rejects.toMatchObject({ code: "sync_failed" });
    expect(children(port)).toEqual([]);
    await repository.push("back", { "a.yaml": "a: 1\n" });
    expect((await remote().fetchHead()).subject).toBe("back");
  });
});

test("a token goes to its own origin as a header, never into arguments, errors or redirects", async () => {
  const requests: string[] = [];
  const { createServer: createHttp } = await import("node:http");
  const http = createHttp((request, response) => {
    requests.push(`${request.url} ${request.headers.authorization ?? "-"}`);
    response.writeHead(302, { location: "http://127.0.0.2:1/elsewhere" }).end();
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  closing.push(() => http.close());
  const { port } = http.address() as { port: number };
  const credentials = { token: async () => "s3cr3t-t0ken\n" };
  const error: unknown = await remote({ url: `http://127.0.0.1:${port}/x.git`, credentials, timeoutMs: 5_000 })
    .fetchHead()
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "sync_failed" });
  expect(JSON.stringify([error, String(error)])).not.toContain("s3cr3t");
  expect(requests).toEqual([
    `/x.git/info/refs?service=git-upload-pack Basic ${Buffer.from("x-access-token:s3cr3t-t0ken").toString("base64")}`,
  ]);
});
