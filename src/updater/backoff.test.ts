import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { virtualClock } from "../../test/support/updater-host.ts";
import { openBackoff } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import { systemFiles } from "./files.ts";

const LENGTH_MS = 600_000;
let root: string;
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), "updater-backoff-"))));
afterEach(() => rmSync(root, { recursive: true, force: true }));
const open = async (clock: Clock) =>
  await openBackoff(
    { folder: root, files: systemFiles, log: { info: () => undefined, warn: () => undefined, error: () => undefined } },
    clock,
    LENGTH_MS,
  );

describe("a content that failed", () => {
  it("waits exactly its time, by content", async () => {
    const clock = virtualClock();
    const backoff = await open(clock);
    await backoff.remember("aa", "health: 503");
    expect(backoff.of("aa")).toEqual({
      cause: "health: 503",
      notBefore: new Date(Number(clock.nowNanos() / 1_000_000n) + LENGTH_MS).toISOString(),
    });
    expect(backoff.of("bb")).toBeUndefined();
    clock.advance(LENGTH_MS - 1);
    expect(backoff.of("aa")).toBeDefined();
    clock.advance(1);
    expect(backoff.of("aa")).toBeUndefined();
  });

  it("after a restart in the same boot, waits for what is left", async () => {
    const clock = virtualClock();
    await (await open(clock)).remember("aa", "x");
    clock.advance(400_000);
    const again = await open(clock);
    expect(again.of("aa")).toBeDefined();
    clock.advance(200_000);
    expect(again.of("aa")).toBeUndefined();
  });

  it("after a reboot, waits for what was stored: neither skipped nor longer, wherever the clocks are", async () => {
    const clock = virtualClock();
    const before = await open(clock);
    await before.remember("aa", "x");
    clock.advance(400_000);
    await before.store();
    const rebooted = { ...virtualClock(), bootId: "boot-2", monotonicMs: () => 5 };
    expect((await open(rebooted)).of("aa")).toBeDefined();
    const later = { ...rebooted, monotonicMs: () => 5 };
    const backoff = await open(later);
    later.monotonicMs = () => 5 + 200_000;
    expect(backoff.of("aa")).toBeUndefined();
  });

  it("is never kept longer than configured, whatever the file says", async () => {
    const clock = virtualClock();
    writeFileSync(
      join(root, "backoff.json"),
      JSON.stringify({
        bootId: "boot-1",
        failures: [{ contentHash: "aa", cause: "x", untilMonotonicMs: 9e15, remainingMs: 9e15 }],
      }),
    );
    const backoff = await open(clock);
    clock.advance(LENGTH_MS);
    expect(backoff.of("aa")).toBeUndefined();
  });

  it("counts also when it cannot be stored", async () => {
    const said: string[] = [];
    const writeDurably = async () => {
      throw Object.assign(new Error("no space"), { code: "ENOSPC" });
    };
    const log = {
      info: () => undefined,
      warn: () => undefined,
      error: (_: object, text: string) => void said.push(text),
    };
    const backoff = await openBackoff(
      { folder: root, files: { ...systemFiles, writeDurably }, log },
      virtualClock(),
      LENGTH_MS,
    );
    await backoff.remember("aa", "health: 503");
    expect(backoff.of("aa")).toMatchObject({ cause: "health: 503" });
    expect(said).toEqual(["the contents that failed could not be stored"]);
  });

  it("is one of at most 32: the oldest is forgotten, so that a hostile server fills no disk", async () => {
    const clock = virtualClock();
    const backoff = await open(clock);
    for (let content = 0; content < 40; content++) await backoff.remember(`hash-${content}`, "x");
    const again = await open(clock);
    const waiting = Array.from({ length: 40 }, (_, content) => again.of(`hash-${content}`) !== undefined);
    expect(waiting).toEqual([...Array<boolean>(8).fill(false), ...Array<boolean>(32).fill(true)]);
  });

  it("a file that is cut costs the memory, not the start", async () => {
    writeFileSync(join(root, "backoff.json"), '{"bootId"');
    expect((await open(virtualClock())).of("aa")).toBeUndefined();
  });
});
