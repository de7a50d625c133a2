/** The root by TUF, against a repository on loopback: each way in which repository, cache or clock can be wrong. */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { serveTufRepository, type TufRepository } from "../../test/support/tuf-repository.ts";
import { openSigningAuthority } from "../signing/authority.ts";
import { oldRootWarning } from "./root-age.ts";
import { createRootKeeper, fetchTrustedRoot, type TufSource } from "./tuf-root.ts";

let authorityFolder: string;
let trustedRoot: string;
let folder: string;
let repository: TufRepository;
let source: TufSource;

beforeAll(async () => {
  authorityFolder = mkdtempSync(join(tmpdir(), "verify-tuf-authority-"));
  trustedRoot = (await openSigningAuthority(authorityFolder)).trustedRoot();
});
afterAll(() => rmSync(authorityFolder, { recursive: true }));

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "verify-tuf-"));
  await publish();
});
afterEach(async () => {
  await repository.close();
  rmSync(folder, { recursive: true, force: true });
});

async function publish(expiresInDays?: number): Promise<void> {
  await repository?.close();
  repository = await serveTufRepository(trustedRoot, expiresInDays);
  const rootFile = join(folder, "first-root.json");
  writeFileSync(rootFile, repository.root);
  source = { mirrorUrl: repository.url, rootFile, cacheFolder: join(folder, "state", "tuf") };
}
/** The cache as the library lays it out: one folder for the repository. */
const cached = (name: string): string => join(source.cacheFolder, readdirSync(source.cacheFolder)[0] ?? "", name);
const refusal = (text: RegExp) =>
  expect.objectContaining({ code: "trusted_root_unreadable", message: expect.stringMatching(text) as string }) as Error;

describe("a repository that can be reached", () => {
  it("gives its root, and is not asked again before its metadata expires", async () => {
    const { certificateAuthorities, tlogs, ctlogs } = await fetchTrustedRoot(source);
    expect([certificateAuthorities.length, tlogs.length > 0, ctlogs.length > 0]).toEqual([1, true, true]);
    const asked = repository.requests.length;
    expect(asked).toBeGreaterThan(0);
    await fetchTrustedRoot(source);
    expect(repository.requests).toHaveLength(asked);
  });

  it("fills a cache for our account alone, also where the folder was open to readers", async () => {
    await fetchTrustedRoot(source);
    expect(statSync(source.cacheFolder).mode & 0o777).toBe(0o700);
    chmodSync(source.cacheFolder, 0o755);
    await fetchTrustedRoot(source);
    expect(statSync(source.cacheFolder).mode & 0o777).toBe(0o700);
  });

  it("with another first root is refused", async () => {
    const other = await serveTufRepository(trustedRoot);
    try {
      await expect(fetchTrustedRoot({ ...source, mirrorUrl: other.url })).rejects.toThrow(
        refusal(/is not the repository that its first root names/),
      );
    } finally {
      await other.close();
    }
  });

  it("needs a first root unless it is the public one", async () => {
    await expect(fetchTrustedRoot({ ...source, rootFile: undefined })).rejects.toThrow(
      refusal(/no first root is known for .*tufRootFile/),
    );
    const absent = join(folder, "absent.json");
    await expect(fetchTrustedRoot({ ...source, rootFile: absent })).rejects.toThrow(
      refusal(/first root .*absent\.json cannot be read \(ENOENT\)/),
    );
    const broken = join(folder, "broken.json");
    writeFileSync(broken, "{");
    await expect(fetchTrustedRoot({ ...source, rootFile: broken })).rejects.toThrow(
      refusal(/first root .* root\.json/),
    );
  });
});

describe.each(["fails", "hangs", "is gone"] as const)("a repository that %s", (mood) => {
  const breakIt = async () => {
    if (mood === "is gone") await repository.close();
    else repository.mood = mood;
  };

  it("does no harm while the cache is good", async () => {
    await fetchTrustedRoot(source);
    await breakIt();
    await fetchTrustedRoot(source);
  });

  it("is a clear error without one", async () => {
    await breakIt();
    const timeoutMs = mood === "hangs" ? 300 : 10_000;
    await expect(fetchTrustedRoot({ ...source, timeoutMs })).rejects.toThrow(
      refusal(/cannot be reached .*trustedRootFile/),
    );
  });
});

const DAMAGE: [string, (bytes: Buffer) => Buffer][] = [
  ["cut", (bytes) => bytes.subarray(0, bytes.length / 2)],
  ["emptied", () => Buffer.alloc(0)],
  ["overwritten", () => Buffer.from("garbage")],
  [
    "tampered with at the same length",
    (bytes) => Buffer.from(bytes.toString("latin1").replace(/[1-9]/, "0"), "latin1"),
  ],
];

describe.each(["root.json", "timestamp.json", "snapshot.json", "targets.json", "targets/trusted_root.json"])(
  "a cached %s",
  (name) => {
    it.each(DAMAGE)("that was %s heals", async (_, damage) => {
      await fetchTrustedRoot(source);
      const whole = readFileSync(cached(name));
      writeFileSync(cached(name), damage(whole));
      await fetchTrustedRoot(source);
      expect(readFileSync(cached(name))).toEqual(whole);
    });
  },
);

describe("a cache folder that cannot be used", () => {
  it("because something else lies there is a clear error", async () => {
    const inTheWay = join(folder, "file");
    writeFileSync(inTheWay, "");
    for (const cacheFolder of [inTheWay, join(inTheWay, "tuf")])
      await expect(fetchTrustedRoot({ ...source, cacheFolder })).rejects.toThrow(
        refusal(/the TUF cache .*file.* cannot be used \((ENOTDIR|EEXIST)\); it must be a folder/),
      );
  });

  it("because another account may write into it is refused: its root.json would be trusted", async () => {
    await fetchTrustedRoot(source);
    chmodSync(source.cacheFolder, 0o770);
    await expect(fetchTrustedRoot(source)).rejects.toThrow(refusal(/could be written by another account; remove it/));
  });

  it("because this account may not write there is a clear error", () => {
    const closed = mkdtempSync(join(folder, "closed-"));
    chmodSync(closed, 0o555);
    chmodSync(folder, 0o755);
    const module = new URL("./tuf-root.ts", import.meta.url).href;
    const program = `import { fetchTrustedRoot } from ${JSON.stringify(module)};
      await fetchTrustedRoot(${JSON.stringify({ ...source, cacheFolder: join(closed, "tuf") })}).catch((e) => console.log(e.code, e.message));`;
    // the superuser may write everywhere
    const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const child = spawnSync(process.execPath, ["--input-type=module", "-e", program], { ...account, encoding: "utf8" });
    expect(child.stdout, child.stderr).toMatch(
      /^trusted_root_unreadable .*the TUF cache .* cannot be used \(EACCES\); it must be a folder that this account may write/,
    );
  });

  it("because it belongs to another account is refused", async (test) => {
    if (process.getuid?.() !== 0) test.skip("only the superuser can give a folder away");
    await fetchTrustedRoot(source);
    chownSync(source.cacheFolder, 65_534, 65_534);
    await expect(fetchTrustedRoot(source)).rejects.toThrow(refusal(/could be written by another account/));
  });
});

it("metadata that has expired is refused, from the repository and from the cache", async () => {
  await publish(-1);
  await expect(fetchTrustedRoot(source)).rejects.toThrow(refusal(/has expired; is the clock of this host right\?/));
  await expect(fetchTrustedRoot(source)).rejects.toThrow(refusal(/has expired/));
});

describe("the keeper", () => {
  const DAY_MS = 24 * 3_600_000;
  /** Sleeps end when the test says so. */
  function handClock() {
    const sleeps: { ms: number; end: () => void }[] = [];
    const begun: (() => void)[] = [];
    return {
      sleeps,
      /** Resolves when somebody sleeps. */
      sleeping: () => new Promise<void>((resolve) => void begun.push(resolve)),
      sleep: (ms: number, signal?: AbortSignal) =>
        new Promise<void>((end, reject) => {
          sleeps.push({ ms, end });
          signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
          begun.splice(0).forEach((resolve) => resolve());
        }),
    };
  }

  it("refreshes at once and every 24 hours; a failed refresh takes nothing away and is told", async () => {
    const clock = handClock();
    const warnings: string[] = [];
    const log = { warn: (fields: object, text: string) => void warnings.push(`${text} ${JSON.stringify(fields)}`) };
    const keeper = createRootKeeper(source, { clock, log });
    const ending = new AbortController();
    const first = clock.sleeping();
    const running = keeper.keepFresh(ending.signal);
    await first;
    expect([repository.requests.length > 0, clock.sleeps.map(({ ms }) => ms), warnings]).toEqual([true, [DAY_MS], []]);
    const kept = await keeper.trust();
    rmSync(source.cacheFolder, { recursive: true });
    await repository.close();
    const second = clock.sleeping();
    clock.sleeps[0]?.end();
    await second;
    expect(warnings).toEqual([expect.stringMatching(/not refreshed; the last one stays in use .*cannot be reached/)]);
    expect(await keeper.trust()).toBe(kept);
    ending.abort(new Error("over"));
    await running;
  });

  it("without a root at the start says so, and fetches it when it is needed", async () => {
    const clock = handClock();
    const warnings: string[] = [];
    const keeper = createRootKeeper(source, { clock, log: { warn: (_, text) => void warnings.push(text) } });
    repository.mood = "fails";
    const asleep = clock.sleeping();
    const ending = new AbortController();
    const running = keeper.keepFresh(ending.signal);
    await asleep;
    expect(warnings).toEqual(["the trusted root was not refreshed; signed archives are refused until it is"]);
    await expect(keeper.trust()).rejects.toThrow(refusal(/cannot be reached/));
    repository.mood = "serves";
    expect((await keeper.trust()).tlogs.length).toBeGreaterThan(0);
    ending.abort(new Error("over"));
    await running;
  });

  it("asked twenty times at once begins once", async () => {
    const keeper = createRootKeeper(source, { clock: handClock(), log: { warn: () => undefined } });
    const roots = await Promise.all(Array.from({ length: 20 }, async () => await keeper.trust()));
    expect(new Set(roots).size).toBe(1);
    expect(repository.requests.filter((path) => path === "/timestamp.json")).toHaveLength(1);
  });
});

describe("the age of a root file", () => {
  const DAY_MS = 86_400_000;
  it.each([
    [0, undefined],
    [90, undefined],
    [91, /first-root\.json is 91 days old; .*replace it/],
  ])("%i days", async (days, text) => {
    const file = join(folder, "first-root.json");
    const warning = await oldRootWarning(file, statSync(file).mtimeMs + days * DAY_MS);
    if (text === undefined) expect(warning).toBeUndefined();
    else expect(warning).toMatch(text);
  });

  it("that is not there", async () => {
    expect(await oldRootWarning(join(folder, "absent"), 0)).toMatch(/absent cannot be read \(ENOENT\)/);
  });
});
