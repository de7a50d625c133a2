import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { beginReport, isOutcome, reportTransition, type UpdateAttempt } from "../domain/update/health-report.ts";
import type { SigningAuthority } from "../signing/authority.ts";
import {
  makeArchive,
  offerOf,
  openTestAuthority,
  removeAuthority,
  serveArchives,
  sha256,
  TestHost,
  type Archive,
  type ArchiveServer,
} from "../../test/support/updater-host.ts";
import { systemFiles, TEMPORARY, type Files } from "./files.ts";
import type { ServiceManager } from "./host/service.ts";
import { recover, REPAIR, type Recovered } from "./recover.ts";
import { beginTracking, runAttempt } from "./run-attempt.ts";
import { sweepState } from "./state-file.ts";

let authority: SigningAuthority;
let archive: Archive;
let server: ArchiveServer;
beforeAll(async () => {
  authority = await openTestAuthority();
  archive = await makeArchive(authority, "0.161.0");
  server = await serveArchives([archive]);
});
afterAll(async () => {
  removeAuthority(authority);
  await server.close();
});

/** Ports that die before their `at`-th effect, as by kill -9: that effect and all later ones never happen. */
class Mortal {
  effects = 0;
  readonly names: string[] = [];
  private readonly at: number;
  constructor(at: number) {
    this.at = at;
  }
  get dead(): boolean {
    return this.effects >= this.at;
  }
  live(name: string): void {
    if (this.dead) throw new Error("dead");
    this.effects++;
    this.names.push(name);
    if (this.dead) throw new Error("dead");
  }
  files(): Files {
    const guard =
      <A extends [string, ...unknown[]], R>(name: string, work: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        this.live(`${name} ${args[0]}`);
        return await work(...args);
      };
    return {
      ...systemFiles,
      writeDurably: async (path, data, mode) => {
        // it may die in the middle as well: with the new file half written beside the old one
        if (this.effects === this.at - 1) writeFileSync(`${path}${TEMPORARY}dead`, data.slice(0, data.length / 2));
        this.live(`write ${path}`);
        await systemFiles.writeDurably(path, data, mode);
      },
      rename: guard("rename", systemFiles.rename),
      replaceSymlink: async (target, path) => {
        if (this.effects === this.at - 1) writeFileSync(`${path}${TEMPORARY}dead`, "");
        this.live(`symlink ${path}`);
        await systemFiles.replaceSymlink(target, path);
      },
      copyDurably: guard("copy", systemFiles.copyDurably),
      remove: guard("remove", systemFiles.remove),
      makeFolder: guard("folder", systemFiles.makeFolder),
      create: async (path, mode) => {
        this.live(`create ${path}`);
        const file = await systemFiles.create(path, mode);
        return { ...file, write: async (chunk) => (this.live(`chunk ${path}`), await file.write(chunk)) };
      },
    };
  }
  service(real: ServiceManager): ServiceManager {
    const guard = (name: string, work: () => Promise<void>) => async () => (this.live(name), await work());
    return { ...real, start: guard("start", real.start), stop: guard("stop", real.stop) };
  }
}

async function runMortal(host: TestHost, at: number): Promise<Mortal> {
  const mortal = new Mortal(at);
  const files = mortal.files();
  const deps = host.deps(server, authority, { files, service: mortal.service(host.service()) });
  const state = host.state(files);
  const offer = offerOf(archive, server);
  const tracker = await beginTracking(offer, deps, {
    clock: deps.clock,
    log: deps.log,
    store: async (it) => await state.storeAttempt(it),
    changed: () => undefined,
  });
  await runAttempt(offer, tracker, deps).catch((error: unknown) => {
    if (!mortal.dead) throw error;
  });
  return mortal;
}

/** A fresh process on the same host. */
async function restart(
  host: TestHost,
  signal?: AbortSignal,
): Promise<{ recovered: Recovered; report: UpdateAttempt | undefined }> {
  const deps = host.deps(server, authority);
  await sweepState(host.stateFolder());
  const recovered = await recover({
    host: deps,
    state: host.state(),
    backoff: await host.backoff(),
    ...(signal && { signal }),
  });
  const stored = await host.state().attempt();
  return { recovered, report: stored.state === "ok" ? stored.value : undefined };
}

/** Old healthy or new healthy, nothing left behind, and the attempt told. */
async function expectConsistent(host: TestHost, report: UpdateAttempt | undefined, where: string): Promise<void> {
  expect(["0.160.0", "0.161.0"], where).toContain(host.active);
  expect(host.runs, where).toBe(host.active);
  expect(existsSync(join(host.installDir, "current/otelcol-contrib")), where).toBe(true);
  expect([host.journalExists, host.leftovers], where).toEqual([false, []]);
  if (report !== undefined) expect(isOutcome(report.status), `${where}: ${report.status}`).toBe(true);
  if (report?.status === "rolled_back") expect(host.active, where).toBe("0.160.0");
  if (report?.status === "failed")
    expect([report.healthy, report.error], where).toEqual([true, expect.stringContaining("interrupted")]);
}

describe("a process that dies before any of its effects", () => {
  it.each<[string, (host: TestHost) => void, string]>([
    ["of an update that succeeds", () => undefined, "0.161.0"],
    [
      "of an update that is rolled back",
      (host) => void (host.healthOf = (version) => (version === "0.161.0" ? 503 : 200)),
      "0.160.0",
    ],
  ])("%s leaves a host that the next start makes consistent", { timeout: 180_000 }, async (_, arrange, end) => {
    const whole = new TestHost();
    arrange(whole);
    const { names } = await runMortal(whole, Number.POSITIVE_INFINITY);
    expect(whole.active).toBe(end);
    whole.remove();
    expect(names.length).toBeGreaterThan(20);
    for (let at = 1; at <= names.length; at++) {
      const host = new TestHost();
      arrange(host);
      await runMortal(host, at);
      const { report } = await restart(host);
      await expectConsistent(host, report, `died before effect ${at}: ${names[at - 1]}`);
      const again = await restart(host);
      expect(again.recovered).toEqual({ repair: "none" });
      expect(again.report).toEqual(report);
      host.remove();
    }
  });

  it("also while it repairs", { timeout: 180_000 }, async () => {
    const dieAt = async (effect: number): Promise<{ host: TestHost; mortal: Mortal }> => {
      const host = new TestHost();
      const points = await runMortal(host, Number.POSITIVE_INFINITY);
      host.remove();
      const again = new TestHost();
      await runMortal(again, points.names.findIndex((name) => name.startsWith("symlink")) + 2); // activated, not started
      again.healthOf = (version) => (version === "0.161.0" ? 503 : 200); // so that the repair has to go back
      const mortal = new Mortal(effect);
      const deps = again.deps(server, authority, { files: mortal.files(), service: mortal.service(again.service()) });
      await recover({
        host: deps,
        state: again.state(mortal.files()),
        backoff: await again.backoff(mortal.files()),
      }).catch((error: unknown) => {
        if (!mortal.dead) throw error;
      });
      return { host: again, mortal };
    };
    const whole = await dieAt(Number.POSITIVE_INFINITY);
    expect(whole.host.active).toBe("0.160.0");
    whole.host.remove();
    for (let at = 1; at <= whole.mortal.names.length; at++) {
      const { host } = await dieAt(at);
      await restart(host);
      expect([host.active, host.runs, host.journalExists], `died before ${whole.mortal.names[at - 1]}`).toEqual([
        "0.160.0",
        "0.160.0",
        false,
      ]);
      host.remove();
    }
  });
});

describe("repair at start", () => {
  const entry = (over: object = {}) => ({
    phase: "swapping",
    version: "0.161.0",
    archiveSha256: "a".repeat(64),
    binarySha256: "",
    previous: { version: "0.160.0", binarySha256: "" },
    cause: "",
    ...over,
  });

  it("has a repair for every entry and whatever is on disk", () => {
    expect(REPAIR).toEqual({
      swapping: { new: "finish", new_damaged: "roll_back", previous: "keep_previous", other: "roll_back" },
      rolling_back: { new: "roll_back", new_damaged: "roll_back", previous: "roll_back", other: "roll_back" },
    });
  });

  it("trusts the bytes, not the name: a damaged new version is taken back", async () => {
    const host = new TestHost();
    await runMortal(host, Number.POSITIVE_INFINITY);
    writeFileSync(join(host.stateDir, "journal.json"), JSON.stringify(entry({ binarySha256: sha256("other bytes") })));
    const { recovered } = await restart(host);
    expect(recovered).toMatchObject({ repair: "roll_back", ok: true });
    expect([host.active, host.runs]).toEqual(["0.160.0", "0.160.0"]);
    host.remove();
  });

  it.each([
    ["empty", ""],
    ["cut", '{"phase":"swap'],
    ["full of zero bytes", "\0".repeat(200)],
  ])("a journal that is %s is moved aside; marker and bytes decide", async (_, content) => {
    const host = new TestHost();
    await runMortal(host, Number.POSITIVE_INFINITY);
    host.runs = undefined;
    writeFileSync(join(host.stateDir, "journal.json"), content);
    await restart(host);
    expect([host.active, host.runs, host.journalExists]).toEqual(["0.161.0", "0.161.0", false]);
    expect(existsSync(join(host.stateDir, "journal.json.broken"))).toBe(true);
    host.remove();
  });

  it.each([
    ["empty", ""],
    ["cut", '{"version":"0.1'],
    ["full of zero bytes", "\0".repeat(200)],
    ["of another shape", "[]"],
  ])("an attempt state that is %s: the start goes on and shows the attempt as interrupted", async (_, content) => {
    const host = new TestHost();
    await host.state().storePackages({
      installed: null,
      lastFailure: "",
      answer: {
        allPackagesHash: "",
        packages: [{ name: "", offeredVersion: "v0.161.0", offeredHash: "", status: "installing", error: "" }],
      },
    });
    writeFileSync(join(host.stateDir, "attempt.json"), content);
    const { report } = await restart(host);
    expect(report).toMatchObject({
      version: "0.161.0",
      from: "0.160.0",
      status: "failed",
      healthy: true,
      error: expect.stringContaining("interrupted") as string,
    });
    host.remove();
  });

  it("when both versions fail, the journal stays, the report says so, and a later start mends it", async () => {
    const host = new TestHost();
    await runMortal(host, Number.POSITIVE_INFINITY);
    host.healthOf = () => 503;
    const bytes = readFileSync(join(host.installDir, "versions/0.161.0/otelcol-contrib"));
    writeFileSync(join(host.stateDir, "journal.json"), JSON.stringify(entry({ binarySha256: sha256(bytes) })));
    const first = await restart(host);
    expect(first.recovered).toMatchObject({ ok: false });
    expect(host.journalExists).toBe(true);
    expect(first.report).toMatchObject({ status: "failed", healthy: false });
    host.healthOf = () => 200;
    const second = await restart(host);
    expect(second.report).toMatchObject({ status: "rolled_back", healthy: true });
    expect([host.active, host.journalExists]).toEqual(["0.160.0", false]);
    host.remove();
  });

  it("an attempt that a full disk did not take is told from the journal, not by the report of the one before", async () => {
    const host = new TestHost();
    const ended = { kind: "ended", outcome: "succeeded", healthy: true } as const;
    const before = beginReport({ version: "0.160.0", from: "0.159.0" }, 1n);
    await host.state().storeAttempt(reportTransition(before, ended, 2n));
    writeFileSync(join(host.stateDir, "journal.json"), JSON.stringify(entry()));
    const { report } = await restart(host);
    expect(report).toMatchObject({ version: "0.161.0", from: "0.160.0", status: "failed", healthy: true });
    host.remove();
  });

  it("on a full disk a start mends the host, and what it could not store is known until it ends", async () => {
    const host = new TestHost();
    await runMortal(host, Number.POSITIVE_INFINITY);
    const bytes = readFileSync(join(host.installDir, "versions/0.161.0/otelcol-contrib"));
    writeFileSync(join(host.stateDir, "journal.json"), JSON.stringify(entry({ binarySha256: sha256(bytes) })));
    host.runs = undefined;
    const writeDurably = async () => {
      throw Object.assign(new Error("no space"), { code: "ENOSPC", syscall: "write" });
    };
    const files: Files = { ...systemFiles, writeDurably };
    const state = host.state(files);
    const uid = await state.instanceUid();
    const deps = host.deps(server, authority, { files });
    const recovered = await recover({ host: deps, state, backoff: await host.backoff(files) });
    expect(recovered).toMatchObject({ ok: true, version: "0.161.0" });
    expect([host.runs, host.journalExists, await state.instanceUid()]).toEqual(["0.161.0", false, uid]);
    host.remove();
  });

  it("a recovery that is cancelled keeps the journal", async () => {
    const host = new TestHost();
    host.healthOf = () => 503;
    writeFileSync(join(host.stateDir, "journal.json"), JSON.stringify(entry()));
    await expect(restart(host, AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
    expect(host.journalExists).toBe(true);
    host.remove();
  });

  it("a content that a start had to take back is not tried again at once", async () => {
    const host = new TestHost();
    host.healthOf = (version) => (version === "0.161.0" ? 503 : 200);
    writeFileSync(
      join(host.stateDir, "journal.json"),
      JSON.stringify(entry({ phase: "rolling_back", cause: "health: 503" })),
    );
    await restart(host);
    expect((await host.backoff()).of("a".repeat(64))).toMatchObject({ cause: "health: 503" });
    host.remove();
  });
});
