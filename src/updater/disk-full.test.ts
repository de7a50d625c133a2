/** K3: a disk that is full from the n-th write on, for every write of an attempt and of a rollback. */
import { mkdtempSync, rmSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { UpdateAttempt } from "../domain/update/health-report.ts";
import type { SigningAuthority } from "../signing/authority.ts";
import {
  makeArchive,
  offerOf,
  openTestAuthority,
  removeAuthority,
  serveArchives,
  TestHost,
  type Archive,
  type ArchiveServer,
} from "../../test/support/updater-host.ts";
import type { EffectKind, Perform } from "./effect.ts";
import { portsOf } from "./fault-points.ts";
import type { HostDeps } from "./install.ts";
import { Layout } from "./layout.ts";
import { recover } from "./recover.ts";
import { beginTracking, runAttempt } from "./run-attempt.ts";

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

const NEED_SPACE: ReadonlySet<EffectKind> = new Set(["create", "write", "mkdir", "symlink"]);

/** A disk that takes `writes` more writes, half of the one after that, and then none until it is emptied. */
class Disk {
  done: string[] = [];
  isFull = false;
  private readonly writes: number;
  constructor(writes: number) {
    this.writes = writes;
  }
  readonly perform: Perform = async (kind, target, work, half) => {
    if (NEED_SPACE.has(kind)) {
      if (!this.isFull && this.done.length >= this.writes) {
        this.isFull = true;
        await half?.();
      }
      if (this.isFull) throw Object.assign(new Error(`ENOSPC: ${kind} ${target}`), { code: "ENOSPC", syscall: kind });
      this.done.push(`${kind} ${target}`);
    }
    return await work();
  };
}

async function attemptOn(host: TestHost, disk: Disk, activation: "symlink" | "copy"): Promise<UpdateAttempt> {
  const { files, service } = portsOf(disk.perform);
  const layout = new Layout({ installDir: host.installDir, binary: "otelcol-contrib", activation }, files);
  const deps: HostDeps = { ...host.deps(server, authority, { files, service: service(host.service()) }), layout };
  const state = host.state(files);
  const offer = offerOf(archive, server);
  const tracker = await beginTracking(offer, deps, {
    clock: deps.clock,
    log: deps.log,
    store: async (it) => await state.storeAttempt(it),
    changed: () => undefined,
  });
  return await runAttempt(offer, tracker, deps);
}

describe("a disk that is full from some write on", () => {
  it.each([200, 503])(
    "while the new version answers %s: disk_full, the old or the new version healthy, nothing left, and the next attempt works",
    { timeout: 180_000 },
    async (answer) => {
      const isHealthy = (version: string) => (version === "0.161.0" ? answer : 200);
      const whole = new TestHost();
      whole.healthOf = isHealthy;
      const roomy = new Disk(Number.POSITIVE_INFINITY);
      await attemptOn(whole, roomy, "symlink");
      whole.remove();
      expect(roomy.done.length).toBeGreaterThan(20);
      const ends = new Set<string>();
      for (let writes = 0; writes < roomy.done.length; writes++) {
        const host = new TestHost();
        host.healthOf = isHealthy;
        const disk = new Disk(writes);
        const report = await attemptOn(host, disk, "symlink");
        const where = `full before ${roomy.done[writes]}`;
        const end = `${report.status} ${host.active}${host.calls.includes("stop 0.160.0") ? " stopped" : ""}`;
        ends.add(end);
        if (!end.endsWith("stopped")) expect([report.status, report.error], where).toEqual(["failed", DISK_FULL]);
        if (report.healthy) expect(["0.160.0", report.version], where).toContain(host.active);
        if (report.status === "succeeded") expect(host.active, where).toBe("0.161.0");
        if (report.status !== "failed") expect([host.runs, host.journalExists], where).toEqual([host.active, false]);
        expect(host.leftovers, where).toEqual([]);
        host.healthOf = () => 200;
        if (host.journalExists) {
          // both failed: not even the way back was possible, and a start with room mends it
          expect([report.healthy, report.error], where).toEqual([false, expect.stringContaining("rollback_failed: ")]);
          const deps = host.deps(server, authority);
          await recover({ host: deps, state: host.state(), backoff: await host.backoff() });
        }
        expect((await attemptOn(host, new Disk(Number.POSITIVE_INFINITY), "symlink")).status, where).toBe("succeeded");
        expect([host.active, host.runs, host.journalExists], where).toEqual(["0.161.0", "0.161.0", false]);
        host.remove();
      }
      console.log(`${roomy.done.length} writes of an attempt whose version answers ${answer}: ${[...ends].join(", ")}`);
    },
  );
});
const DISK_FULL: unknown = expect.stringMatching(/^disk_full: /);

describe("a real full disk", () => {
  it("is disk_full before the service is stopped, and leaves nothing behind", async (context) => {
    const root = mkdtempSync(join(tmpdir(), "updater-full-"));
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", root]).status === 0;
    try {
      context.skip(!mounted, "a small file system can be mounted by root only");
      const host = new TestHost();
      const deps = host.deps(server, authority);
      const offer = offerOf(archive, server);
      const tracker = await beginTracking(offer, deps, {
        clock: deps.clock,
        log: deps.log,
        store: async () => undefined,
        changed: () => undefined,
      });
      // the spool is on it, and something else has filled it
      const filled = spawnSync("sh", ["-c", `cat /dev/zero >"${root}/filler" 2>/dev/null`]);
      expect(filled.status).not.toBe(0);
      const report = await runAttempt(offer, tracker, { ...deps, spoolDir: join(root, "spool") });
      expect([report.status, report.error, host.calls]).toEqual(["failed", DISK_FULL, []]);
      expect([host.active, host.leftovers, host.versions]).toEqual(["0.160.0", [], ["0.160.0"]]);
      host.remove();
    } finally {
      if (mounted) spawnSync("umount", [root]);
      rmSync(root, { recursive: true, force: true });
    }
  });
});
