/**
 * Reading real remotes through every fault: the state says `sync_failed` and what to do, the snapshot before stays in
 * force, and when the fault is over the next poll applies (contract, "How a revision is read and applied"; cases A3, A9).
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createGitRemote, type GitRemoteSettings } from "../../src/activities/git-remote.ts";
import { createGitopsActivities } from "../../src/activities/gitops.ts";
import { DEFAULT_LIMITS } from "../../src/domain/gitops/repository-files.ts";
import { validateRevision } from "../../src/domain/gitops/validate.ts";
import { readGitopsState, type GitopsState } from "../../src/store/gitops.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { CONFIG, createGitRepository, object, type GitRepository } from "../support/git-repository.ts";
import {
  createHttpsGitServer,
  createPlainGitServer,
  createSshGitServer,
  createSshKey,
  type GitServer,
  type HttpsGitServer,
  type SshGitServer,
} from "../support/git-servers.ts";

const FETCHER = new URL("../support/git-fetcher.ts", import.meta.url).pathname;
const missing = (tool: string): boolean => spawnSync("sh", ["-c", `command -v ${tool}`]).status !== 0;
const noSsh = missing("ssh");
const noOpenssl = missing("openssl");
const noTmpfs = process.getuid?.() !== 0 || process.platform !== "linux";
if (noSsh) console.warn("skipped: reading over SSH, there is no ssh here");
if (noOpenssl) console.warn("skipped: reading over HTTPS, there is no openssl here to make certificates");
if (noTmpfs) console.warn("skipped: a full disk, only root can mount a small one");

let database: TestDatabase;
let repository: GitRepository;
let settings: GitRemoteSettings;
let sync: () => Promise<string>;
let children: ChildProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool.query("delete from snapshots; delete from gitops_revisions; delete from gitops_issues");
  await database.pool.query("delete from gitops_state; insert into gitops_state default values");
  repository = await createGitRepository();
  settings = {
    url: repository.url,
    branch: "main",
    path: "",
    timeoutMs: 20_000,
    cloneDir: join(repository.folder, "clones"),
  };
  restart();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const child of children) child.kill("SIGKILL");
  children = [];
  await repository.remove();
});

/** A worker with the settings as they are now. */
function restart(changes: Partial<GitRemoteSettings> = {}): void {
  settings = { ...settings, ...changes };
  const activities = createGitopsActivities({
    pool: database.pool,
    remote: createGitRemote(settings),
    limits: DEFAULT_LIMITS,
    validate: async (files, limits) => validateRevision(files, limits),
    now: () => new Date(),
    log: { info: () => undefined, warn: () => undefined },
  });
  const run = <A extends unknown[], R>(activity: (...args: A) => Promise<R>, ...args: A): Promise<R> =>
    new MockActivityEnvironment().run(activity, ...args);
  // one round of the workflow
  sync = async () => {
    try {
      const revision = await run(activities.fetchRevision, { again: false });
      if (revision.unchanged) return "unchanged";
      const judgement = await run(activities.validateRevision, revision);
      if (!judgement.valid) return `rejected: ${judgement.first}`;
      return (await run(activities.applyRevision, revision)).applied ? "applied" : "overtaken";
    } catch (error) {
      expect(error).toMatchObject({ type: "sync_failed", nonRetryable: true });
      await run(activities.recordSyncFailure, { message: (error as Error).message });
      return "failed";
    }
  };
}

const FILES = {
  "blueprints/base.yaml": object("Blueprint", "base", `{config: ${CONFIG}}`),
  "fleets/a.yaml": object("Fleet", "a", "{selector: {}, blueprint: base}"),
};
let pushes = 0;
const push = (): Promise<string> =>
  repository.push(`push ${(pushes += 1)}`, {
    ...FILES,
    "fleets/b.yaml": `# ${pushes}\n${object("Fleet", `b${pushes}`, "{selector: {}, blueprint: base, priority: 1}")}`,
  });
const state = (): Promise<GitopsState> => readGitopsState(database.pool);
const clones = (): string[] => (existsSync(settings.cloneDir) ? readdirSync(settings.cloneDir) : []);
const clone = (...path: string[]): string =>
  join(settings.cloneDir, clones().find((it) => it.endsWith(".git")) ?? "", ...path);

/** The whole of a fault: what was in force stays, the reason says what to do, and the next poll after it applies. */
async function survives(says: RegExp, fault: () => unknown, mend: () => unknown): Promise<void> {
  const good = (await state()).appliedCommit;
  await fault();
  expect(await sync()).toBe("failed");
  const during = await state();
  expect(during).toMatchObject({ state: "error", errorCode: "sync_failed", appliedCommit: good });
  expect(during.errorMessage).toMatch(says);
  await mend();
  const next = await push();
  // what was damaged here is thrown away by the first of them
  const outcome = await sync();
  if (outcome === "failed") expect(await sync()).toBe("applied");
  else expect(outcome).toBe("applied");
  expect(await state()).toMatchObject({ state: "ok", errorCode: null, errorMessage: null, appliedCommit: next });
  expect(clones().filter((name) => name.endsWith(".part"))).toEqual([]);
}

/** Command lines of git and its helpers that name `text`. */
const processesWith = (text: string): string[] =>
  readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return /^(?:\S*\/)?(?:git|ssh|git-remote-\w+) /.test(line) && line.includes(text) ? [`${pid} ${line}`] : [];
      } catch {
        return []; // it ended meanwhile
      }
    });
async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await delay(20);
  }
}

describe("repositories on this machine", () => {
  test.each(["file URL", "absolute path"])("a %s is read", async (kind) => {
    restart({ url: kind === "file URL" ? repository.url : repository.bare });
    const commit = await push();
    expect(await sync()).toBe("applied");
    expect((await state()).appliedCommit).toBe(commit);
  });

  type Fault = [string, RegExp, () => unknown, () => unknown];
  const aside = (path: string): string => `${path}.aside`;
  const faults: Fault[] = [
    [
      "the repository is gone",
      /no repository at gitops\.url/,
      () => rename(repository.bare, aside(repository.bare)),
      () => rename(aside(repository.bare), repository.bare),
    ],
    [
      "the branch is unknown",
      /no such branch.*correct gitops\.branch/,
      () => restart({ branch: "nope" }),
      () => restart({ branch: "main" }),
    ],
    [
      "the branch was deleted",
      /no such branch/,
      () => execFileSync("git", ["--git-dir", repository.bare, "update-ref", "-d", "refs/heads/main"]),
      () => undefined,
    ],
    [
      "gitops.path vanishes",
      /the path fleets is no folder in this revision/,
      async () => {
        restart({ path: "fleets" });
        await repository.git("rm", "-rq", "fleets");
        await repository.push("without");
      },
      () => restart({ path: "" }),
    ],
    [
      "the last YAML file is removed",
      /no YAML file below the root/,
      async () => {
        await repository.git("rm", "-rq", ".");
        await repository.push("nothing left", { "README.md": "x" });
      },
      () => undefined,
    ],
    [
      "an object is missing at the remote",
      /run git fsck there/,
      async () => {
        await push();
        const objects = join(repository.bare, "objects");
        await rename(objects, aside(objects));
        await mkdir(objects);
      },
      async () => {
        const objects = join(repository.bare, "objects");
        await rm(objects, { recursive: true });
        await rename(aside(objects), objects);
      },
    ],
    [
      "the clone's folder cannot be made",
      /ENOTDIR|EEXIST|not a directory/i,
      async () => {
        await writeFile(join(repository.folder, "file"), "");
        restart({ cloneDir: join(repository.folder, "file") });
      },
      () => restart({ cloneDir: join(repository.folder, "clones") }),
    ],
  ];
  test.each(faults)("%s", async (_, says, fault, mend) => {
    await push();
    expect(await sync()).toBe("applied");
    await survives(says, fault, mend);
  });

  test("a repository without a commit is no empty revision", async () => {
    expect(await sync()).toBe("failed");
    expect(await state()).toMatchObject({ state: "error", errorCode: "sync_failed", appliedCommit: null });
    expect((await state()).errorMessage).toMatch(/or the repository is empty: push a commit/);
    await push();
    expect(await sync()).toBe("applied");
  });

  test("another remote in the configuration is cloned afresh", async () => {
    await push();
    await sync();
    const other = await createGitRepository();
    try {
      const commit = await other.push("other", {
        ...FILES,
        "fleets/c.yaml": object("Fleet", "c", "{selector: {}, blueprint: base}"),
      });
      restart({ url: other.url });
      expect(await sync()).toBe("applied");
      expect((await state()).appliedCommit).toBe(commit);
    } finally {
      await other.remove();
    }
  });

  test("many pushes over a shallow clone leave few packs, also when one fetch skips many commits", async () => {
    await push();
    const remote = createGitRemote(settings);
    const inBare = (...args: string[]): string =>
      execFileSync("git", ["--git-dir", repository.bare, "-c", "user.name=k", "-c", "user.email=k@x", ...args])
        .toString()
        .trim();
    const tree = inBare("rev-parse", "main^{tree}");
    for (let round = 0; round < 55; round += 1) {
      const skipped = round === 20 ? 5 : 0;
      for (let n = 0; n <= skipped; n += 1)
        inBare("update-ref", "refs/heads/main", inBare("commit-tree", "-p", "main", "-m", `${round}.${n}`, tree));
      expect((await remote.fetchHead()).subject).toBe(`${round}.${skipped}`);
    }
    const packs = readdirSync(clone("objects", "pack")).filter((name) => name.endsWith(".pack"));
    expect(packs.length).toBeLessThanOrEqual(51);
    expect(await sync()).toBe("applied");
  }, 300_000);
});

describe("the clone", () => {
  const locks = [
    "index.lock",
    "shallow.lock",
    "HEAD.lock",
    "config.lock",
    "packed-refs.lock",
    "gc.pid.lock",
    "refs/myriarch/head.lock",
    "objects/maintenance.lock",
    "objects/info/commit-graphs/commit-graph-chain.lock",
  ];
  test.each(locks)("%s of a dead git does not stop the sync", async (lock) => {
    await push();
    await sync();
    await mkdir(join(clone(lock), ".."), { recursive: true });
    await writeFile(clone(lock), "");
    await push();
    expect(await sync()).toBe("applied");
    expect(existsSync(clone(lock))).toBe(false);
  });

  const damages: [string, () => unknown][] = [
    ["its HEAD is empty", () => writeFile(clone("HEAD"), "")],
    ["its configuration is no configuration", () => writeFile(clone("config"), "[core\n")],
    ["its objects are gone", () => rm(clone("objects"), { recursive: true })],
    ["its shallow file is garbage", () => writeFile(clone("shallow"), "garbage\n")],
    ["its head names nothing", () => writeFile(clone("refs/myriarch/head"), `${"1".repeat(40)}\n`)],
    ["its head is cut", () => writeFile(clone("refs/myriarch/head"), "12")],
    [
      "it is a file",
      async () => {
        const folder = clone();
        await rm(folder, { recursive: true });
        await writeFile(folder, "");
      },
    ],
    ["it is gone", () => rm(clone(), { recursive: true })],
  ];
  test.each(damages)("%s: the second poll applies at the latest", async (_, damage) => {
    const good = await push();
    await sync();
    await damage();
    await push();
    const outcome = await sync();
    if (outcome === "failed") {
      expect(await state()).toMatchObject({ errorCode: "sync_failed", appliedCommit: good });
      expect(await sync()).toBe("applied");
    } else expect(outcome).toBe("applied");
  });

  const fetcher = (more: Partial<GitRemoteSettings> = {}, rounds = 1): ChildProcess => {
    const child = spawn(process.execPath, [FETCHER, JSON.stringify({ ...settings, ...more }), String(rounds)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.push(child);
    return child;
  };
  const ended = async (child: ChildProcess): Promise<{ code: number | null; said: string[] }> => {
    let [said, errors] = ["", ""];
    child.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) throw new Error(errors);
    return { code, said: said.trim().split("\n") };
  };

  test("three workers of one host share the folder and never disturb each other", async () => {
    await push();
    const workers = [fetcher({}, 15), fetcher({}, 15), fetcher({}, 15)].map(ended);
    for (let round = 0; round < 15; round += 1) await push();
    const last = await push();
    for (const { said } of await Promise.all(workers)) expect(said).toHaveLength(15);
    // each had its own; the next process removes them
    expect((await ended(fetcher())).said[0]).toContain(last);
    expect(clones()).toHaveLength(1);
  });

  test.each(["git", "the worker"])("%s is killed in the middle of a clone", async (who) => {
    await push();
    const server = await createPlainGitServer(repository.bare);
    try {
      server.behave({ kind: "silent", afterBytes: 400 });
      const stalled = server.stalled();
      restart({ url: server.url });
      const child = who === "git" ? undefined : fetcher();
      const running = who === "git" ? sync() : undefined;
      await stalled;
      expect(clones().map((name) => name.replace(/.*\./, ""))).toEqual(["part"]);
      expect(processesWith(String(server.port))).not.toEqual([]);
      if (child !== undefined) {
        child.kill("SIGKILL");
        await once(child, "exit");
      } else {
        for (const line of processesWith(String(server.port))) process.kill(Number.parseInt(line, 10), "SIGKILL");
        expect(await running).toBe("failed");
        expect((await state()).errorMessage).toContain("SIGKILL");
      }
      await until("no git is left", () => processesWith(String(server.port)).length === 0);
      server.behave({ kind: "serve" });
      expect(await sync()).toBe("applied");
      expect(clones().map((name) => name.replace(/.*\./, ""))).toEqual(["git"]);
    } finally {
      await server.close();
    }
  });

  test.skipIf(noTmpfs)(
    "a full disk is named; with space the next poll applies, and what is in force stays",
    async () => {
      await push();
      await sync();
      const small = await mkdtemp(join(tmpdir(), "myriarch-small-"));
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", small]);
      try {
        // random text does not compress
        const noise = execFileSync("sh", ["-c", "head -c 1500000 /dev/urandom | base64 -w 70 | sed 's/^/# /'"], {
          maxBuffer: 2 ** 23,
        }).toString();
        await repository.push("large", { "noise.yaml": noise });
        await survives(
          /disk of gitops\.cloneDir is full: free some space/,
          () => restart({ cloneDir: small }),
          () => execFileSync("mount", ["-o", "remount,size=64m", small]),
        );
        // and full again, with a clone that is there
        await survives(
          /disk of gitops\.cloneDir is full/,
          async () => {
            await repository.push("larger", { "more.yaml": noise.replaceAll("a", "b") });
            execFileSync("sh", ["-c", `head -c 100000000 /dev/zero > '${small}/filler' 2>/dev/null || true`]);
          },
          () => rm(join(small, "filler")),
        );
      } finally {
        execFileSync("umount", [small]);
        await rm(small, { recursive: true });
      }
    },
  );
});

describe.skipIf(noSsh)("over SSH", () => {
  let server: SshGitServer;
  let keys: { private: string; public: string };
  // a path that ssh would split and expand
  const file = (name: string): string => join(repository.folder, "with space %h", name);
  const writeKey = async (text: string, mode = 0o600): Promise<void> => {
    await rm(file("key"), { force: true });
    await writeFile(file("key"), text, { mode });
    await chmod(file("key"), mode);
  };
  const trustServer = (): Promise<void> => writeFile(file("known_hosts"), server.knownHost());

  beforeEach(async () => {
    server = await createSshGitServer(repository.bare);
    keys = createSshKey();
    server.allow(keys.public);
    await mkdir(file(""), { recursive: true });
    await writeKey(keys.private);
    await trustServer();
    restart({
      url: server.url,
      timeoutMs: 10_000,
      credentials: { sshKeyFile: file("key"), knownHostsFile: file("known_hosts") },
    });
    await push();
    expect(await sync()).toBe("applied");
  });
  afterEach(() => server.close());

  test("the right key reads; user@host:path is a form of it", async () => {
    await push();
    expect(await sync()).toBe("applied");
    expect(await sync()).toBe("unchanged");
    expect(server.visits()).toBe(3);
  });

  type Fault = [string, RegExp, () => unknown, () => unknown];
  const faults: Fault[] = [
    [
      "another key",
      /does not accept the key of gitops\.credentials\.sshKeyFile/,
      () => writeKey(createSshKey().private),
      () => writeKey(keys.private),
    ],
    [
      "a key that the server forgot",
      /does not accept the key/,
      () => server.allow(createSshKey().public),
      () => server.allow(keys.public),
    ],
    ["a key that others may read", /mode 0600/, () => writeKey(keys.private, 0o644), () => writeKey(keys.private)],
    [
      "a key file that is no key",
      /sshKeyFile cannot be used/,
      () => writeKey("no key\n"),
      () => writeKey(keys.private),
    ],
    ["no key file", /sshKeyFile cannot be used/, () => rm(file("key")), () => writeKey(keys.private)],
    [
      "an unknown host key",
      /not in gitops\.credentials\.knownHostsFile: add it/,
      () => writeFile(file("known_hosts"), ""),
      () => trustServer(),
    ],
    [
      "no known_hosts file",
      /not in gitops\.credentials\.knownHostsFile/,
      () => rm(file("known_hosts")),
      () => trustServer(),
    ],
    ["a changed host key", /shows another SSH host key/, () => server.changeHostKey(), () => trustServer()],
    [
      "a server that dies in the middle",
      /connection breaks/,
      async () => {
        await push();
        server.behave({ kind: "cut", afterBytes: 600 });
      },
      () => server.behave({ kind: "serve" }),
    ],
    [
      "a server that is silent after the handshake",
      /no answer within 2 s/,
      async () => {
        restart({ timeoutMs: 2_000 });
        server.behave({ kind: "silent", afterBytes: 0 });
      },
      () => {
        expect(processesWith(String(server.port))).toEqual([]);
        restart({ timeoutMs: 10_000 });
        server.behave({ kind: "serve" });
      },
    ],
  ];
  test.each(faults)("%s", async (_, says, fault, mend) => {
    await survives(says, fault, mend);
    expect((await state()).errorMessage).toBeNull();
  });

  test("the key is in no message", async () => {
    await writeKey(createSshKey().private);
    await sync();
    const [, body = ""] = keys.private.split("\n");
    expect((await state()).errorMessage).not.toContain(body.slice(0, 20));
  });
});

describe.skipIf(noOpenssl)("over HTTPS", () => {
  let server: HttpsGitServer;
  let token: string | undefined;
  const basic = (text: string, user = "x-access-token"): string =>
    `Basic ${Buffer.from(`${user}:${text}`).toString("base64")}`;
  const PLANTED = "planted-https-token";

  beforeEach(async () => {
    server = await createHttpsGitServer(repository.bare);
    server.allow(basic(PLANTED));
    token = PLANTED;
    // the machine's own may name another authority
    vi.stubEnv("GIT_SSL_CAINFO", undefined);
    vi.stubEnv("SSL_CERT_FILE", server.caFile);
    restart({ url: server.url, timeoutMs: 10_000, credentials: { token: async () => token ?? "" } });
    await push();
    expect(await sync()).toBe("applied");
  });
  afterEach(() => server.close());

  test("the right token reads, from the first request on", async () => {
    expect(new Set(server.authorizations())).toEqual(new Set([basic(PLANTED)]));
    await push();
    expect(await sync()).toBe("applied");
  });

  test("a rotated token works at the next poll, without a restart", async () => {
    server.allow(basic("rotated"));
    token = "rotated\n";
    await push();
    expect(await sync()).toBe("applied");
  });

  test("a user name in the URL is the token's", async () => {
    server.allow(basic(PLANTED, "oauth2"));
    restart({ url: server.url.replace("https://", "https://oauth2@") });
    await push();
    expect(await sync()).toBe("applied");
  });

  test("without a credential a public repository is read", async () => {
    server.allow(undefined);
    restart({ credentials: undefined });
    await push();
    expect(await sync()).toBe("applied");
    expect(server.authorizations().at(-1)).toBeUndefined();
  });

  type Fault = [string, RegExp, () => unknown, () => unknown];
  const faults: Fault[] = [
    [
      "another token",
      /does not accept the credential: check gitops\.credentials\.tokenFile/,
      () => void (token = "wrong-token"),
      () => void (token = PLANTED),
    ],
    [
      "no token",
      /does not accept the credential/,
      () => restart({ credentials: undefined }),
      () => restart({ credentials: { token: async () => PLANTED } }),
    ],
    [
      "a token file that cannot be read",
      /EACCES/,
      () => restart({ credentials: { token: () => Promise.reject(new Error("EACCES: /run/token")) } }),
      () => restart({ credentials: { token: async () => PLANTED } }),
    ],
    [
      "a server that refuses",
      /does not accept the credential/,
      () => server.answer((_, response) => void response.writeHead(403).end()),
      () => server.answer(undefined),
    ],
    [
      "no such repository",
      /no repository at gitops\.url, or the credential may not see it/,
      () => server.answer((_, response) => void response.writeHead(404).end()),
      () => server.answer(undefined),
    ],
    [
      "a server that fails",
      /500|503/,
      () => server.answer((_, response) => void response.writeHead(503).end("busy")),
      () => server.answer(undefined),
    ],
    [
      "an authority that nobody trusts",
      /certificate is not trusted: name its CA in SSL_CERT_FILE/,
      () => vi.stubEnv("SSL_CERT_FILE", undefined),
      () => vi.stubEnv("SSL_CERT_FILE", server.caFile),
    ],
    [
      "a server that dies in the middle",
      /connection breaks/,
      async () => {
        await push();
        server.behave({ kind: "cut", afterBytes: 100 });
      },
      () => server.behave({ kind: "serve" }),
    ],
    [
      "a server that is silent",
      /no answer within 2 s|too slow/,
      () => {
        restart({ timeoutMs: 2_000 });
        server.answer(() => undefined);
      },
      () => {
        expect(processesWith(String(server.port))).toEqual([]);
        restart({ timeoutMs: 10_000 });
        server.answer(undefined);
      },
    ],
  ];
  test.each(faults)("%s; the token is in no message", async (_, says, fault, mend) => {
    await survives(says, fault, async () => {
      const { errorMessage } = await state();
      expect(errorMessage).not.toMatch(/planted|wrong-token/);
      expect(errorMessage).not.toContain(basic(PLANTED).slice(6));
      await mend();
    });
  });

  test("a redirect to another origin gets no request, and the message says what to write", async () => {
    const other = await createHttpsGitServer(repository.bare);
    try {
      await survives(
        /write the final URL into gitops\.url/,
        () =>
          server.answer(
            (request, response) =>
              void response.writeHead(302, { location: `https://127.0.0.1:${other.port}${request.url}` }).end(),
          ),
        () => server.answer(undefined),
      );
      expect(other.visits()).toBe(0);
    } finally {
      await other.close();
    }
  });
});

test("a plain server that is away, and comes back", async () => {
  const server: GitServer = await createPlainGitServer(repository.bare);
  try {
    restart({ url: server.url });
    await push();
    await sync();
    await survives(
      /connection breaks/,
      async () => {
        await push();
        server.behave({ kind: "cut", afterBytes: 600 });
      },
      () => server.behave({ kind: "serve" }),
    );
  } finally {
    await server.close();
  }
});
