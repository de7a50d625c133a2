import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { UpdateAttempt } from "../domain/update/health-report.ts";
import type { SigningAuthority } from "../signing/authority.ts";
import {
  BINARY,
  makeArchive,
  offerOf,
  openTestAuthority,
  removeAuthority,
  pathOf,
  script,
  serveArchives,
  sha256,
  TestHost,
  type Archive,
  type ArchiveServer,
} from "../../test/support/updater-host.ts";
import { systemFiles } from "./files.ts";
import type { HostDeps, Offer } from "./install.ts";
import { Layout } from "./layout.ts";
import { beginTracking, runAttempt } from "./run-attempt.ts";

let authority: SigningAuthority;
let archives: Record<string, Archive>;
let server: ArchiveServer;
let host: TestHost;

beforeAll(async () => {
  authority = await openTestAuthority();
  const versions = ["0.159.0", "0.160.0", "0.161.0", "0.162.0", "0.163.0"];
  archives = Object.fromEntries(
    await Promise.all(versions.map(async (v) => [v, await makeArchive(authority, v)] as const)),
  );
});
afterAll(() => removeAuthority(authority));
beforeEach(async () => {
  host = new TestHost();
  server = await serveArchives(Object.values(archives));
});
afterEach(async () => {
  await server.close();
  host.remove();
});

const archive = (version: string): Archive => {
  const found = archives[version];
  if (found === undefined) throw new Error(`no archive of ${version}`);
  return found;
};

async function attempt(
  offer: Offer,
  over: Partial<HostDeps> = {},
  reports: UpdateAttempt[] = [],
): Promise<UpdateAttempt> {
  const deps = host.deps(server, authority, over);
  const state = host.state();
  const tracker = await beginTracking(offer, deps, {
    clock: deps.clock,
    log: deps.log,
    store: async (report) => await state.storeAttempt(report),
    changed: (report) => void reports.push(report),
  });
  return await runAttempt(offer, tracker, deps);
}
const update = async (version: string, over: Partial<HostDeps> = {}) =>
  await attempt(offerOf(archive(version), server), over);
const stepsOf = (report: UpdateAttempt) => Object.fromEntries(report.steps.map(({ step, status }) => [step, status]));

/** What each part of an attempt leaves behind when it is done, in order. */
const MILESTONE = {
  downloaded: "write <state>/spool/archive-*",
  unpacked: "sync <install>/versions/.staging-*/otelcol-contrib",
  marked: "rename <install>/versions/.staging-*/install.json",
  placed: "rename <install>/versions/0.161.0",
  journaled: "rename <state>/journal.json",
  stopped: "stop",
  activated: "rename <install>/current",
  started: "start",
  closed: "unlink <state>/journal.json",
} as const;
const MILESTONES: readonly string[] = Object.values(MILESTONE);

describe("an update", () => {
  it("verifying covers hash, signature, unpacking and preflight; installing covers marker, journal, stop, activation", async () => {
    const covered = new Map<string, string[]>();
    let step = "downloading";
    const note = (what: string) => covered.set(step, [...(covered.get(step) ?? []), what]);
    const ports = host.watched((effect) => {
      const [name] = Object.entries(MILESTONE).find(([, it]) => it === effect) ?? [];
      if (name !== undefined) note(name);
    });
    const deps = host.deps(server, authority, ports);
    const tracker = await beginTracking(offerOf(archive("0.161.0"), server), deps, {
      clock: deps.clock,
      log: deps.log,
      store: async () => undefined,
      changed: ({ status }) => void (step = status),
    });
    await runAttempt(offerOf(archive("0.161.0"), server), tracker, {
      ...deps,
      verifySignature: async (signature, digest, version) => {
        note(digest === sha256(archive("0.161.0").bytes) ? "hash" : "wrong hash");
        await deps.verifySignature(signature, digest, version);
        note("signature");
      },
      preflight: { ...deps.preflight, portProblem: async () => (note("preflight"), undefined) },
    });
    expect(Object.fromEntries(covered)).toEqual({
      downloading: ["downloaded"],
      verifying: ["hash", "signature", "unpacked", "preflight"],
      installing: ["marked", "placed", "journaled", "stopped", "activated"],
      restarting: ["started"],
      succeeded: ["closed"],
    });
  });

  it("goes through the steps in the contract's order and ends with the new version active and marked", async () => {
    const reports: UpdateAttempt[] = [];
    const order: string[] = [];
    const report = await attempt(
      offerOf(archive("0.161.0"), server),
      host.watched((effect) => void (MILESTONES.includes(effect) && order.push(effect))),
      reports,
    );
    expect(report).toMatchObject({
      version: "0.161.0",
      from: "0.160.0",
      status: "succeeded",
      healthy: true,
      error: "",
    });
    expect(reports.map(({ status }) => status)).toEqual([
      "downloading",
      "verifying",
      "installing",
      "restarting",
      "health_check",
      "succeeded",
    ]);
    expect(order).toEqual(MILESTONES);
    expect(host.calls).toEqual(["stop 0.160.0", "start 0.161.0"]);
    expect([host.active, host.runs, host.journalExists, host.leftovers]).toEqual(["0.161.0", "0.161.0", false, []]);
    expect(host.marker("0.161.0")).toEqual({
      version: "0.161.0",
      archiveSha256: sha256(archive("0.161.0").bytes),
      binarySha256: sha256(script("0.161.0")),
      previousVersion: "0.160.0",
      installedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
      source: "package",
    });
    expect(server.requests[0]?.authorization).toBe("Bearer offer-token");
  });

  it("installs the first version of an empty host", async () => {
    host.empty();
    expect(await update("0.161.0")).toMatchObject({ status: "succeeded", from: "" });
    expect([host.active, host.runs, host.marker("0.161.0")["previousVersion"]]).toEqual(["0.161.0", "0.161.0", ""]);
  });

  it("keeps active and previous version, prunes older ones", async () => {
    for (const version of ["0.161.0", "0.162.0", "0.163.0"]) expect((await update(version)).status).toBe("succeeded");
    expect(host.versions).toEqual(["0.162.0", "0.163.0"]);
  });

  it("the one-step return is taken, a further step back is refused without any request", async () => {
    await update("0.161.0");
    await update("0.162.0");
    server.requests.length = 0;
    const refused = await update("0.160.0");
    expect(refused).toMatchObject({
      status: "failed",
      healthy: true,
      error: expect.stringMatching(/^policy_refused: /) as string,
    });
    expect(server.requests).toEqual([]);
    expect((await update("0.161.0")).status).toBe("succeeded");
    expect(host.marker("0.161.0")["previousVersion"]).toBe("0.162.0");
  });

  it("the content of the active version is not downloaded again", async () => {
    await update("0.161.0");
    server.requests.length = 0;
    const report = await update("0.161.0");
    expect(report.status).toBe("succeeded");
    expect(stepsOf(report)).toMatchObject({ verifying: "skipped", installing: "skipped" });
    expect([server.requests, host.calls]).toEqual([[], ["stop 0.160.0", "start 0.161.0"]]);
  });

  it("the shortcut needs marker and bytes: a changed active binary is downloaded, compared, and never overwritten", async () => {
    await update("0.161.0");
    writeFileSync(join(host.installDir, "versions/0.161.0", BINARY), script("0.161.0", "# changed"));
    const report = await update("0.161.0");
    expect(report).toMatchObject({
      status: "failed",
      error: expect.stringMatching(/^install: .*never overwritten/) as string,
    });
    expect(host.calls).toHaveLength(2);
  });

  it("a version put there by hand with the very bytes is proven by its archive and gets its marker, without a stop", async () => {
    const report = await update("0.160.0");
    expect([report.status, host.calls, host.marker("0.160.0")["source"]]).toEqual(["succeeded", [], "package"]);
  });

  it("with activation copy the stable path holds the new bytes and the old ones stay beside it", async () => {
    const bin = join(host.installDir, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, BINARY), script("0.160.0"), { mode: 0o755 });
    const layout = host.deps(server, authority).layout;
    const copying = new Layout({ ...layout.settings, activation: "copy" }, systemFiles);
    const report = await update("0.161.0", { layout: copying });
    expect(report).toMatchObject({ status: "succeeded", from: "0.160.0" });
    expect(readFileSync(join(bin, BINARY), "utf8")).toBe(script("0.161.0"));
    expect(readFileSync(join(bin, `${BINARY}.previous`), "utf8")).toBe(script("0.160.0"));
  });
});

describe("a failure before the stop changes nothing on the host", () => {
  const unchanged = () => {
    expect([host.active, host.runs, host.calls, host.versions, host.journalExists, host.leftovers]).toEqual([
      "0.160.0",
      "0.160.0",
      [],
      ["0.160.0"],
      false,
      [],
    ]);
  };
  const inRoot = (content: string, name = BINARY) => [{ name, content, mode: 0o755 }];

  it.each<[string, () => Promise<Partial<Offer> & { archive?: Archive }>, RegExp]>([
    [
      "a signature of another release",
      async () => ({ signature: archive("0.162.0").signature }),
      /^verification: .*\[bundle_digest_mismatch\]/,
    ],
    [
      "a signature of a release whose number begins alike",
      async () => ({
        signature: await authority.signFile(`sha256:${sha256(archive("0.161.0").bytes)}`, { tag: "v0.161.01" }),
      }),
      /^verification: /,
    ],
    [
      "a valid signature of these bytes for another tag",
      async () => ({
        signature: await authority.signFile(`sha256:${sha256(archive("0.161.0").bytes)}`, { tag: "v0.16.0" }),
      }),
      /^verification: .*\[identity_version_mismatch\]/,
    ],
    ["no signature", async () => ({ signature: new Uint8Array() }), /^verification: .*\[signature_missing\]/],
    [
      "a legacy signature",
      async () => ({ signature: Buffer.from("Zm9v YmFy") }),
      /^verification: legacy signature format not supported \(needs online Rekor\)/,
    ],
    ["a wrong content hash", async () => ({ contentHash: "0".repeat(64) }), /^verification: the archive is /],
    ["no content hash", async () => ({ contentHash: "" }), /^verification: .*no SHA-256/],
    ["a malformed version", async () => ({ versionText: "v0.162" }), /^policy_refused: .*malformed/],
    ["a URL elsewhere", async () => ({ url: "http://127.0.0.1:1/api/v1/artifacts/x" }), /^policy_refused: /],
    [
      "a binary that names another version",
      async () => ({ archive: await makeArchive(authority, "0.161.0", inRoot(script("0.160.0"))) }),
      /^preflight: .*does not name version 0\.161\.0/,
    ],
    [
      "a binary that names a longer version",
      async () => ({ archive: await makeArchive(authority, "0.161.0", inRoot(script("0.161.01"))) }),
      /^preflight: /,
    ],
    [
      "a binary that exits 1",
      async () => ({ archive: await makeArchive(authority, "0.161.0", inRoot("#!/bin/sh\nexit 1\n")) }),
      /^preflight: --version exits with code 1/,
    ],
    [
      "a file that cannot run",
      async () => ({ archive: await makeArchive(authority, "0.161.0", inRoot("\u007fELF")) }),
      /^preflight: --version exits with code/,
    ],
    [
      "an archive without the binary",
      async () => ({ archive: await makeArchive(authority, "0.161.0", inRoot("x", "otelcol")) }),
      /^verification: the archive is refused: .*does not hold/,
    ],
    [
      "an archive that is none",
      async () => ({ archive: await bare(Buffer.from("no gzip")) }),
      /^verification: the archive is refused/,
    ],
    [
      "an archive that was cut",
      async () => ({ archive: await bare(archive("0.161.0").bytes.subarray(0, 200)) }),
      /^verification: the archive is refused/,
    ],
  ])("%s", async (_, make, error) => {
    const { archive: other, ...over } = await make();
    const offered = other ?? archive("0.161.0");
    server.overrides.set(pathOf(offered), (_request, response) => response.end(offered.bytes));
    const report = await attempt(offerOf(offered, server, over));
    expect(report).toMatchObject({ status: "failed", healthy: true, error: expect.stringMatching(error) as string });
    unchanged();
  });

  async function bare(bytes: Buffer): Promise<Archive> {
    return {
      version: "0.161.0",
      bytes,
      signature: await authority.signFile(`sha256:${sha256(bytes)}`, { tag: "v0.161.0" }),
    };
  }

  it("a binary that hangs is ended after a bounded time", async () => {
    const hanging = await makeArchive(authority, "0.161.0", inRoot("#!/bin/sh\nsleep 600 &\nsleep 600\n"));
    server.overrides.set(pathOf(hanging), (_request, response) => response.end(hanging.bytes));
    const { preflight } = host.deps(server, authority);
    const report = await attempt(offerOf(hanging, server), { preflight: { ...preflight, timeoutMs: 300 } });
    expect(report.error).toMatch(/^preflight: --version does not end/);
    unchanged();
  });

  it("a supervisor service that does not exist fails before any request", async () => {
    host.serviceExists = false;
    const report = await update("0.161.0");
    expect(report).toMatchObject({ status: "failed", healthy: true });
    expect(server.requests).toEqual([]);
    unchanged();
  });

  it.each([
    ["absent", undefined],
    ["empty", ""],
    ["invalid", "{"],
    ["another document", "{}"],
  ])("a trusted root that is %s fails at verifying", async (_, content) => {
    const trustedRootFile = join(host.root, "root.json");
    if (content !== undefined) writeFileSync(trustedRootFile, content);
    const report = await update("0.161.0", {
      verifySignature: host.deps(server, { ...authority, trustedRootFile }).verifySignature,
    });
    expect(report.error).toMatch(/^verification: .*\[trusted_root_unreadable\]/);
    expect(stepsOf(report)).toMatchObject({ downloading: "done", verifying: "failed", installing: "skipped" });
    unchanged();
  });

  it("a saved remote configuration that the supervisor could not start on again", async () => {
    // AgentRemoteConfig { config { config_map { "": body "a: [" } } }
    const body = Buffer.from("a: [");
    const file = Buffer.concat([Buffer.from([0x0a, body.length]), body]);
    const entry = Buffer.concat([Buffer.from([0x12, file.length]), file]);
    const map = Buffer.concat([Buffer.from([0x0a, entry.length]), entry]);
    writeFileSync(
      join(host.storageDir, "last_recv_remote_config.dat"),
      Buffer.concat([Buffer.from([0x0a, map.length]), map]),
    );
    expect((await update("0.161.0")).error).toMatch(/^preflight: the supervisor could not start again/);
    unchanged();
  });

  it.each(["downloaded", "unpacked", "marked", "placed", "journaled"] as const)(
    "a withdrawal after %s",
    async (point) => {
      let withdraw = (): unknown => undefined;
      const deps = host.deps(
        server,
        authority,
        host.watched((effect) => void (effect === MILESTONE[point] && withdraw())),
      );
      const tracker = await beginTracking(offerOf(archive("0.161.0"), server), deps, {
        clock: deps.clock,
        log: deps.log,
        store: async () => undefined,
        changed: () => undefined,
      });
      withdraw = () => tracker.withdraw();
      const report = await runAttempt(offerOf(archive("0.161.0"), server), tracker, deps);
      expect(report).toMatchObject({
        status: "failed",
        healthy: true,
        error: expect.stringMatching(/^withdrawn: /) as string,
      });
      unchanged();
    },
  );

  it("after the stop nothing is taken back", async () => {
    let withdraw = (): unknown => undefined;
    const deps = host.deps(
      server,
      authority,
      host.watched((effect) => void (effect === MILESTONE.stopped && withdraw())),
    );
    const tracker = await beginTracking(offerOf(archive("0.161.0"), server), deps, {
      clock: deps.clock,
      log: deps.log,
      store: async () => undefined,
      changed: () => undefined,
    });
    const answers: boolean[] = [];
    withdraw = () => answers.push(tracker.withdraw());
    await runAttempt(offerOf(archive("0.161.0"), server), tracker, deps);
    expect([answers, tracker.report.status]).toEqual([[false], "succeeded"]);
  });

  it.each(["archive-", "/.staging-", ".json"])(
    "a full disk at files like %s is disk_full and leaves nothing behind",
    async (part) => {
      const full: typeof systemFiles = {
        ...systemFiles,
        create: async (path, mode) => {
          const file = await systemFiles.create(path, mode);
          const write = path.includes(part)
            ? async () => {
                throw Object.assign(new Error("no space"), { code: "ENOSPC", syscall: "write" });
              }
            : file.write;
          return { ...file, write };
        },
        writeDurably: async (path, data, mode) => {
          if (path.includes(part)) throw Object.assign(new Error("no space"), { code: "ENOSPC", syscall: "write" });
          await systemFiles.writeDurably(path, data, mode);
        },
      };
      const report = await update("0.161.0", { files: full });
      expect(report).toMatchObject({
        status: "failed",
        healthy: true,
        error: expect.stringMatching(/^disk_full: /) as string,
      });
      unchanged();
    },
  );

  it("too little room is found before it is needed", async () => {
    const files = { ...systemFiles, freeBytes: async () => 10 };
    expect((await update("0.161.0", { files })).error).toMatch(
      /^disk_full: \S+ has no room for the archive: \d+ bytes are needed, 10 are free$/,
    );
    unchanged();
  });

  it("an archive above the size limit", async () => {
    const { limits } = host.deps(server, authority);
    expect((await update("0.161.0", { limits: { ...limits, maxArchiveBytes: 100 } })).error).toMatch(
      /^download: the archive is larger than 100 bytes/,
    );
    unchanged();
  });
});

describe("a failure after the stop is rolled back", () => {
  it.each<[string, () => void, RegExp]>([
    [
      "the collector is healthy once and then is not",
      () => void (host.healthOf = (version, check) => (version === "0.161.0" && check > 1 ? 503 : 200)),
      /health: not healthy within 120 s: the collector's health endpoint answers 503/,
    ],
    ["the supervisor does not stop", () => void (host.stopFails = 1), /install: does not stop/],
    ["the supervisor does not start", () => void (host.startFails = 1), /install: does not start/],
  ])("%s", async (_, arrange, cause) => {
    arrange();
    const report = await update("0.161.0");
    expect(report).toMatchObject({ status: "rolled_back", healthy: true, from: "0.160.0" });
    expect(report.error).toMatch(cause);
    expect(report.error).toMatch(/^update to v0\.161\.0 failed: .*; rolled back to v0\.160\.0$/);
    expect(stepsOf(report)["rolling_back"]).toBe("done");
    expect([host.active, host.runs, host.journalExists, host.leftovers]).toEqual(["0.160.0", "0.160.0", false, []]);
  });

  it("the version after a rollback is neither pruned nor lost", async () => {
    await update("0.161.0");
    host.healthOf = (version) => (version === "0.162.0" ? 503 : 200);
    await update("0.162.0");
    expect(host.active).toBe("0.161.0");
    host.healthOf = () => 200;
    await update("0.163.0");
    expect([host.active, host.versions]).toEqual(["0.163.0", ["0.161.0", "0.163.0"]]);
  });

  it("a rollback that fails as well keeps the journal and carries both causes", async () => {
    host.healthOf = () => 503;
    const report = await update("0.161.0");
    expect(report).toMatchObject({ status: "failed", healthy: false });
    expect(report.error).toMatch(
      /^rollback_failed: update to v0\.161\.0 failed: health: .*; rollback to v0\.160\.0 failed: health: /,
    );
    expect(host.journalExists).toBe(true);
  });

  it("a journal that cannot be removed does not keep the attempt from ending", async () => {
    host.healthOf = (version) => (version === "0.161.0" ? 503 : 200);
    const remove: typeof systemFiles.remove = async (path) => {
      if (path.endsWith("journal.json")) throw Object.assign(new Error("broken"), { code: "EIO", syscall: "unlink" });
      await systemFiles.remove(path);
    };
    const report = await update("0.161.0", { files: { ...systemFiles, remove } });
    expect([report.status, host.active, host.runs, host.journalExists]).toEqual([
      "rolled_back",
      "0.160.0",
      "0.160.0",
      true,
    ]);
  });

  it("a way back that is not possible leaves the supervisor running with what there is", async () => {
    host.healthOf = (version) => (version === "0.161.0" ? 503 : 200);
    let links = 0;
    const replaceSymlink: typeof systemFiles.replaceSymlink = async (target, path) => {
      if (++links > 1) throw Object.assign(new Error("no space"), { code: "ENOSPC", syscall: "symlink" });
      await systemFiles.replaceSymlink(target, path);
    };
    const report = await update("0.161.0", { files: { ...systemFiles, replaceSymlink } });
    expect([report.status, report.healthy, host.runs, host.journalExists]).toEqual(["failed", false, "0.161.0", true]);
  });

  it("a version that could not be taken back is no success when it is offered again, and no way back for the next one", async () => {
    host.healthOf = () => 503;
    await update("0.161.0"); // both fail: the way back ends on 0.160.0
    await host.deps(server, authority).layout.activate("0.161.0"); // as after a way back that stopped before that
    const again = await update("0.161.0");
    expect([again.status, again.error]).toEqual([
      "failed",
      expect.stringMatching(/^install: v0\.161\.0 is active, but its own update failed/),
    ]);
    expect(host.journalExists).toBe(true);
    host.healthOf = (version) => (version === "0.160.0" ? 200 : 503);
    const next = await update("0.162.0");
    expect([next.status, next.from, host.active, host.runs]).toEqual(["rolled_back", "0.160.0", "0.160.0", "0.160.0"]);
  });

  it("without a previous version there is nothing to roll back to: it fails, unhealthy, and says so", async () => {
    host.empty();
    host.healthOf = () => 503;
    const report = await update("0.161.0");
    expect(report).toMatchObject({ status: "failed", healthy: false, from: "" });
    expect(report.error).toMatch(
      /^update to v0\.161\.0 failed: health: .*; there is no previous version to roll back to$/,
    );
    expect([host.active, host.journalExists]).toEqual(["0.161.0", true]);
  });

  it("a report that cannot be stored does not keep the host from going back", async () => {
    host.healthOf = (version) => (version === "0.161.0" ? 503 : 200);
    let stopped = false;
    const { service } = host.watched((effect) => void (stopped ||= effect === MILESTONE.stopped));
    const failing: typeof systemFiles = {
      ...systemFiles,
      writeDurably: async (path, data, mode) => {
        if (stopped) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
        await systemFiles.writeDurably(path, data, mode);
      },
    };
    const report = await update("0.161.0", { files: failing, service });
    expect([report.status, host.active, host.runs]).toEqual(["rolled_back", "0.160.0", "0.160.0"]);
  });
});
