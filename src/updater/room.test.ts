import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { requireRoomToFetch } from "./room.ts";

const root = mkdtempSync(join(tmpdir(), "updater-room-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("room for an update", () => {
  const size = { archiveBytes: 100, missingBytes: 60 }; // 40 are there from before a cut
  const fetch = async (folders: { spool: string; install: string }, free: (folder: string) => number) =>
    await requireRoomToFetch(size, folders, { freeBytes: async (folder) => free(folder) });
  const one = { spool: join(root, "spool"), install: join(root, "install") }; // not there yet: their parent counts

  it("on one file system is for the rest of the archive and what it unpacks to", async () => {
    await fetch(one, () => 160);
    await expect(fetch(one, () => 159)).rejects.toThrow(
      /^disk_full: \S+install has no room for the unpacked collector: 160 bytes are needed, 159 are free$/,
    );
    await expect(fetch(one, () => 59)).rejects.toThrow(/^disk_full: \S+spool has no room for the archive: 60 bytes/);
  });

  it.skipIf(process.platform !== "linux")("on two is for each what it takes", async () => {
    const two = { spool: one.spool, install: "/proc" }; // certainly another file system
    await fetch(two, (folder) => (folder === "/proc" ? 100 : 60));
    await expect(fetch(two, (folder) => (folder === "/proc" ? 99 : 60))).rejects.toThrow(/the unpacked collector: 100/);
    await expect(fetch(two, (folder) => (folder === "/proc" ? 100 : 59))).rejects.toThrow(/the archive: 60/);
  });
});
