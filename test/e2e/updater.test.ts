/** The updater as a process on a real host: versions installed, taken back, and the process killed on the way. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { BRAND } from "../../src/domain/brand.ts";
import { PACKAGE_STATUS, textAttribute } from "../../src/protocol/messages.ts";
import type { SigningAuthority } from "../../src/signing/authority.ts";
import { savedRemoteConfig } from "../support/saved-config.ts";
import {
  openTestAuthority,
  removeAuthority,
  serveArchives,
  sha256,
  type Archive,
  type ArchiveServer,
} from "../support/updater-host.ts";
import { demoArchive, ProcessHost } from "../support/updater-process.ts";

let authority: SigningAuthority;
let good: Archive;
let broken: Archive;
let archives: ArchiveServer;
let host: ProcessHost;

beforeAll(async () => {
  authority = await openTestAuthority();
  good = await demoArchive(authority, "0.161.0");
  broken = await demoArchive(authority, "0.163.0", 1);
  archives = await serveArchives([good, broken]);
});
afterAll(async () => {
  removeAuthority(authority);
  await archives.close();
});
beforeEach(async () => void (host = await ProcessHost.create(archives, authority)));
afterEach(async () => await host.destroy());

/** Exactly one supervisor and one collector, soon: processes of others tell nobody when they come and go. */
const onePair = async () => await host.untilProcesses({ supervisors: 1, collectors: 1 });

describe("a real host", () => {
  it("installs what is offered: current, marker, running collector and component agree", async () => {
    await host.start();
    await host.opamp.until("collector 0.160.0", () => host.reportedVersion === "0.160.0");
    const collectorUid = host.opamp.stateOf(false).instanceUid;
    const own = () => host.opamp.stateOf(true).agentDescription?.nonIdentifyingAttributes ?? new Map();
    await host.opamp.until("link", () => textAttribute(own(), BRAND.attributes.collectorUid) === collectorUid);
    host.offer(good);
    await host.attemptEnds("succeeded", "0.161.0");
    await host.opamp.until("collector 0.161.0", () => host.reportedVersion === "0.161.0");
    expect([host.active, host.binaryVersion, host.journalExists]).toEqual([
      "0.161.0",
      "otelcol-contrib version 0.161.0",
      false,
    ]);
    expect(host.marker("0.161.0")).toMatchObject({
      previousVersion: "0.160.0",
      archiveSha256: sha256(good.bytes),
      source: "package",
    });
    expect(host.attempt?.steps.map(({ step, status }) => `${step} ${status}`)).toEqual([
      "downloading done",
      "verifying done",
      "installing done",
      "restarting done",
      "health_check done",
    ]);
    expect(host.status?.status).toBe(PACKAGE_STATUS.installed);
    await onePair();
    expect(host.log).not.toMatch(/enrollment-token|download-token/);
  });

  it("takes a version back that is healthy once and then is not", async () => {
    await host.start();
    await host.opamp.until("updater", () => host.opamp.stateOf(true).instanceUid !== undefined);
    host.offer(broken);
    await host.attemptEnds("rolled_back", "0.163.0");
    expect(host.attempt?.error).toMatch(/^update to v0\.163\.0 failed: health: .*503; rolled back to v0\.160\.0$/);
    expect([host.active, host.binaryVersion, host.journalExists]).toEqual([
      "0.160.0",
      "otelcol-contrib version 0.160.0",
      false,
    ]);
    await host.opamp.until("collector 0.160.0", () => host.reportedVersion === "0.160.0");
    expect(host.opamp.stateOf(true).health).toMatchObject({
      healthy: true,
      lastError: expect.stringMatching(/^last update failed: /) as string,
    });
  });

  it("SIGTERM ends updater, supervisor and collector; a start after kill -9 ends the orphans and runs one of each", async () => {
    await host.start();
    await host.opamp.until("collector", () => host.reportedVersion === "0.160.0");
    await onePair();
    await host.signal("SIGKILL");
    await onePair();
    const [orphan] = (await host.processes()).supervisors;
    await host.start();
    await onePair();
    const { supervisors } = await host.processes();
    expect(supervisors).toHaveLength(1);
    expect(supervisors[0]?.pid).not.toBe(orphan?.pid);
    expect(await host.signal("SIGTERM")).toBe(0);
    await host.untilProcesses({ supervisors: 0, collectors: 0 });
  });

  it("a second updater on the same folders is refused", async () => {
    await host.start();
    const first = host.opamp.messages.length;
    expect(first).toBeGreaterThanOrEqual(0);
    await expect(host.startSecond()).rejects.toThrow(/another updater \(process \d+\) uses/);
  });
});

const WHOLE = savedRemoteConfig("receivers: {nop: }\nexporters: {debug: }\n");
const HALF = WHOLE.subarray(0, WHOLE.byteLength >> 1);

describe("a plain start on a saved remote configuration that is", () => {
  it.each<[string, Uint8Array]>([
    ["no YAML", savedRemoteConfig("receivers: [\n")],
    ["empty", new Uint8Array()],
    ["full of zeros", new Uint8Array(WHOLE.byteLength)],
    ["cut", HALF],
    ["cut, then zeros", Buffer.concat([HALF, Buffer.alloc(WHOLE.byteLength - HALF.byteLength)])],
  ])("%s ends with a collector that runs; the file is kept aside, and the log names it", async (_, bytes) => {
    const storage = join(host.root, "supervisor");
    mkdirSync(storage, { mode: 0o700 });
    writeFileSync(join(storage, "last_recv_remote_config.dat"), bytes, { mode: 0o600 });
    await host.start();
    const [aside = ""] = await host.untilFile(storage, /^last_recv_remote_config\.dat\.unreadable-/);
    expect(readFileSync(join(storage, aside))).toEqual(Buffer.from(bytes));
    await onePair();
    await host.opamp.until("healthy", () => host.opamp.stateOf(false).health?.healthy === true);
    host.offer(good); // and nothing is in the way of an update
    await host.attemptEnds("succeeded", "0.161.0");
    expect(host.log).toContain(aside);
  });
});

/** One of each kind of moment, with the demo collector; `npm run chaos -- updater` takes every single one. */
const MOMENTS: readonly { name: string; at: string; status: "failed" | "succeeded" | "rolled_back"; new?: true }[] = [
  { name: "placed", at: "after rename <install>/versions/0.161.0#1", status: "failed" },
  { name: "journal written", at: "after rename <state>/journal.json#1", status: "failed" },
  { name: "stopped", at: "after stop#1", status: "failed" },
  { name: "activated", at: "after rename <install>/current#1", status: "failed", new: true },
  { name: "started", at: "after start#2", status: "failed", new: true },
  { name: "closed", at: "before unlink <state>/journal.json#1", status: "succeeded", new: true },
  { name: "rollback activated", at: "after rename <install>/current#2", status: "rolled_back" },
  { name: "rollback started", at: "after start#3", status: "rolled_back" },
];

describe("killed at a named point, the next start brings the old or the new version, healthy", () => {
  it.each(MOMENTS)("$name", async ({ at, status, new: isNew }) => {
    const rollback = status === "rolled_back";
    await host.start(at);
    await host.opamp.until("updater", () => host.opamp.stateOf(true).instanceUid !== undefined);
    const archive = rollback ? broken : good;
    host.offer(archive);
    expect(await host.died()).toBe("SIGKILL");
    const before = host.opamp.messages.length;
    await host.start();
    await host.opamp.until("told", () =>
      host.opamp.messages
        .slice(before)
        .some(({ health }) => health?.componentHealthMap.has(BRAND.updateComponent) === true),
    );
    expect(host.active).toBe(isNew === true ? "0.161.0" : "0.160.0");
    expect(host.binaryVersion).toBe(`otelcol-contrib version ${host.active}`);
    expect(host.journalExists).toBe(false);
    await host.opamp.until("collector", () => host.reportedVersion === host.active);
    await onePair();
    expect(host.attempt).toMatchObject({ version: archive.version, status, healthy: true });
    if (status === "failed") expect(host.attempt?.error).toContain("interrupted");
  });
});

/** Each kind of moment of the command; `npm run chaos -- updater --scenario command-symlink` takes every single one. */
const RECOVERING = [
  { name: "stopped", at: "after stop#1", version: "0.161.0" },
  { name: "started", at: "after start#1", version: "0.161.0" },
  { name: "closed", at: "before unlink <state>/journal.json#1", version: "0.161.0" },
  { name: "turned back", at: "after rename <install>/current#1", version: "0.160.0" },
];

describe("`recover` on a host that was cut off, killed itself, and run again", () => {
  it.each(RECOVERING)("$name", async ({ at, version }) => {
    const isBack = version === "0.160.0";
    await host.start("after rename <install>/current#1");
    await host.opamp.until("updater", () => host.opamp.stateOf(true).instanceUid !== undefined);
    host.offer(isBack ? broken : good);
    expect(await host.died()).toBe("SIGKILL");
    expect((await host.recover(at)).signal).toBe("SIGKILL");
    const { code, said } = await host.recover();
    const repair = isBack ? "roll_back" : "finish";
    expect([code, said]).toEqual([0, `v${version} is active and healthy (${repair})`]);
    expect([host.active, host.journalExists]).toEqual([version, false]);
    await host.untilProcesses({ supervisors: 0, collectors: 0 });
    expect(await host.recover()).toEqual({ code: 0, signal: null, said: "nothing to recover" });
    const before = host.opamp.messages.length;
    await host.start();
    await host.opamp.until("told", () => host.opamp.messages.slice(before).some(({ health }) => health !== undefined));
    const status = isBack ? "rolled_back" : "failed";
    expect(host.attempt).toMatchObject({ status, healthy: true });
  });
});
