/** L8, N7: every file that the host program reads at its start, lost in every way a disk loses files. */
import { readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isOutcome } from "../domain/update/health-report.ts";
import type { SigningAuthority } from "../signing/authority.ts";
import {
  makeArchive,
  offerOf,
  openTestAuthority,
  removeAuthority,
  script,
  serveArchives,
  sha256,
  TestHost,
  type Archive,
  type ArchiveServer,
} from "../../test/support/updater-host.ts";
import { createJournal } from "./attempt-journal.ts";
import { systemFiles } from "./files.ts";
import { INSTALL_MARKER, writeMarker } from "./layout.ts";
import { recover } from "./recover.ts";
import { beginTracking, runAttempt } from "./run-attempt.ts";
import { sweepState } from "./state-file.ts";

let authority: SigningAuthority;
let next: Archive;
let server: ArchiveServer;
beforeAll(async () => {
  authority = await openTestAuthority();
  next = await makeArchive(authority, "0.162.0");
  server = await serveArchives([next]);
});
afterAll(async () => {
  removeAuthority(authority);
  await server.close();
});

const FILES = ["journal.json", "attempt.json", "packages.json", "backoff.json", "identity.json", INSTALL_MARKER];
const DAMAGES: Readonly<Record<string, (whole: Buffer) => Buffer>> = {
  empty: () => Buffer.alloc(0),
  "zero bytes": (whole) => Buffer.alloc(whole.byteLength),
  "its first byte": (whole) => whole.subarray(0, 1),
  "its first half": (whole) => whole.subarray(0, whole.byteLength >> 1),
  "its first half, then zero bytes": (whole) =>
    Buffer.concat([whole.subarray(0, whole.byteLength >> 1), Buffer.alloc(whole.byteLength - (whole.byteLength >> 1))]),
  "all but its end": (whole) => whole.subarray(0, -2),
  "another shape": () => Buffer.from("[]\n"),
};

/** A host that was cut off after 0.161.0 was started, with every file that it can have. */
async function cutOff(): Promise<TestHost> {
  const host = new TestHost();
  unlinkSync(join(host.installDir, "current"));
  host.byHand("0.161.0");
  host.runs = "0.161.0";
  const hashes = { archiveSha256: sha256("archive"), binarySha256: sha256(script("0.161.0")) };
  const previous = { version: "0.160.0", binarySha256: sha256(script("0.160.0")) };
  await writeMarker(systemFiles, join(host.installDir, "versions/0.161.0"), {
    version: "0.161.0",
    ...hashes,
    previousVersion: previous.version,
    installedAt: "2026-01-01T00:00:00.000Z",
    source: "package",
  });
  const journal = createJournal(host.stateFolder());
  await journal.write({ phase: "swapping", version: "0.161.0", ...hashes, previous, cause: "" });
  const deps = host.deps(server, authority);
  const state = host.state();
  await state.instanceUid();
  const tracker = await beginTracking({ ...offerOf(next, server), versionText: "v0.161.0" }, deps, {
    clock: deps.clock,
    log: deps.log,
    store: async (it) => await state.storeAttempt({ ...it, from: "0.160.0" }),
    changed: () => undefined,
  });
  await tracker.stepDone();
  const offered = { name: "", offeredVersion: "v0.161.0", offeredHash: "", status: "installing", error: "" } as const;
  await state.storePackages({ installed: null, answer: { allPackagesHash: "", packages: [offered] }, lastFailure: "" });
  await (await host.backoff()).remember(sha256("bad archive"), "health: 503");
  host.log.length = 0;
  return host;
}

const pathOf = (host: TestHost, file: string): string =>
  file === INSTALL_MARKER ? join(host.installDir, "versions/0.161.0", file) : join(host.stateDir, file);

describe("a host that was cut off, and a file of it that is only", () => {
  it.each(FILES.flatMap((file) => Object.keys(DAMAGES).map((damage) => [damage, file] as const)))(
    "%s: %s; the start says so, mends the host and takes offers",
    async (damage, file) => {
      const host = await cutOff();
      const path = pathOf(host, file);
      writeFileSync(path, DAMAGES[damage]?.(readFileSync(path)) ?? "");
      const deps = host.deps(server, authority);
      const state = host.state();
      await sweepState(host.stateFolder());
      const backoff = await host.backoff();
      await recover({ host: deps, state, backoff });
      expect(await state.instanceUid()).toMatch(/^[0-9a-f-]{36}$/);
      await state.packages();
      const said = host.log.filter(({ level }) => level === "warn").map(({ text }) => text);
      const named =
        file === INSTALL_MARKER ? /install markers are unreadable.*"0\.161\.0"/ : new RegExp(`unreadable.*/${file}`);
      expect(
        said.some((text) => named.test(text)),
        said.join("\n"),
      ).toBe(true);
      const report = await state.attempt();
      expect(report.state === "ok" && isOutcome(report.value.status)).toBe(true);
      expect(["0.160.0", "0.161.0"]).toContain(host.active);
      expect([host.runs, host.journalExists, host.leftovers]).toEqual([host.active, false, []]);
      const offer = offerOf(next, server);
      const tracker = await beginTracking(offer, deps, {
        clock: deps.clock,
        log: deps.log,
        store: async (it) => await state.storeAttempt(it),
        changed: () => undefined,
      });
      expect((await runAttempt(offer, tracker, deps)).status).toBe("succeeded");
      expect([host.active, host.runs]).toEqual(["0.162.0", "0.162.0"]);
      host.remove();
    },
  );

  it("whole: nothing is said to be lost", async () => {
    const host = await cutOff();
    await recover({ host: host.deps(server, authority), state: host.state(), backoff: await host.backoff() });
    expect(host.log.filter(({ text }) => text.includes("unreadable"))).toEqual([]);
    host.remove();
  });
});
