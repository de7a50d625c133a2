import { expect, test, describe } from "vitest";
import { parseDuration } from "./duration.ts";
import { allowDown, parseShare, takeUp } from "./share.ts";

describe("durations are Go's", () => {
  test.each([
    ["0", 0],
    ["90s", 90_000],
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["1.5h", 5_400_000],
    ["250ms", 250],
    ["1h0m0.5s", 3_600_500],
    ["1500us", 2],
  ])("%s is %d ms", (text, ms) => expect(parseDuration(text)).toBe(ms));
  test.each(["", "90", "5 m", "-5m", "1d", "m", "1h30", "5m ", "1e3s", "9999999h", "1h,5m"])("'%s' is none", (text) =>
    expect(parseDuration(text)).toBeUndefined(),
  );
});

describe("counts and shares", () => {
  test.each([
    [3, { count: 3 }],
    ["3", { count: 3 }],
    ["10%", { percent: 10 }],
    ["0%", { percent: 0 }],
    ["100%", { percent: 100 }],
    ["12.5%", { percent: 12.5 }],
  ])("%s is read", (value, share) => expect(parseShare(value)).toEqual(share));
  test.each([-1, 1.5, "101%", "10 %", "%", "ten", "-5%", "", "1e2", "10%%"])("%s is refused", (value) =>
    expect(parseShare(value)).toBeUndefined(),
  );
  test.each([
    ["10%", 10, 1, 1],
    ["10%", 7, 1, 0],
    ["50%", 7, 4, 3],
    ["20%", 10, 2, 2],
    ["7%", 100, 7, 7],
    ["100%", 3, 3, 3],
    ["0%", 10, 1, 0],
    [5, 3, 3, 5],
    [0, 3, 1, 0],
    ["10%", 0, 0, 0],
  ])("%s of %d takes %d, allows %d failures", (value, total, takes, allows) => {
    const share = parseShare(value);
    if (share === undefined) throw new Error("not a share");
    expect([takeUp(share, total), allowDown(share, total)]).toEqual([takes, allows]);
  });
  test.each([
    [1, [1, 1, 1]],
    [3, [1, 2, 3]],
    [7, [1, 4, 7]],
    [10, [1, 5, 10]],
  ])("10/50/100%% of %d is cumulative %j", (total, cumulative) => {
    const shares = ["10%", "50%", "100%"].map((text) => takeUp(parseShare(text) ?? { count: 0 }, total));
    expect(shares).toEqual(cumulative);
  });
});
