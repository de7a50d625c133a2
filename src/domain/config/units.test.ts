import { describe, expect, it } from "vitest";
import { closest } from "./closest.ts";
import { durationMs, sizeBytes } from "./units.ts";

describe("durations", () => {
  it.each([
    ["90s", 90_000],
    ["1h30m", 5_400_000],
    ["30d", 2_592_000_000],
    ["1d12h", 129_600_000],
    ["0", 0],
    [0, 0],
    ["250ms", 250],
  ])("%s is %i ms", (text, ms) => expect(durationMs.parse(text)).toBe(ms));
  it.each(["", "90", "-5s", "1 h", "h", "5x", "s5", 90])("%s is none", (text) => {
    expect(durationMs.safeParse(text).success).toBe(false);
  });
});

describe("sizes", () => {
  it.each([
    ["64MiB", 67_108_864],
    ["4 KiB", 4_096],
    [1_024, 1_024],
    ["10B", 10],
  ])("%s is %i bytes", (text, bytes) => expect(sizeBytes.parse(text)).toBe(bytes));
  it.each(["64MB", "x", "", "-1", "1.5MiB"])("%s is none", (text) =>
    expect(sizeBytes.safeParse(text).success).toBe(false),
  );
});

describe("did you mean", () => {
  it.each([
    ["lissten", "listen"],
    ["LISTEN", "listen"],
    ["lsiten", "listen"],
    ["pubicUrl", "publicUrl"],
    ["zzz", undefined],
    ["ur", "url"],
    ["lis", undefined],
  ])("%s → %s", (name, known) => expect(closest(name, ["listen", "publicUrl", "url"])).toBe(known));
});
