import { expect, test } from "vitest";
import { advanced, begun, dueScrub, ended, NO_SCRUBS, type ScrubHistory } from "./scrub-plan.ts";

const DAY = 24 * 3_600_000;
const EVERY = { light: DAY, deep: 7 * DAY };
const after = (light: number | undefined, deep: number | undefined): ScrubHistory => ({
  endedAtMs: { light, deep },
  running: undefined,
});

test.each<[string, ScrubHistory, number, ReturnType<typeof dueScrub>]>([
  ["a new node reads everything", NO_SCRUBS, 0, "deep"],
  ["nothing within a day", after(0, 0), DAY - 1, undefined],
  ["sizes after a day", after(0, 0), DAY, "light"],
  ["bytes after a week", after(6 * DAY, 0), 7 * DAY, "deep"],
  ["a clock set back an hour changes nothing", after(2 * DAY, 2 * DAY), 2 * DAY - 3_600_000, undefined],
  ["a clock set back a year", after(366 * DAY, 366 * DAY), 1 * DAY, "deep"],
])("%s", (_, history, nowMs, expected) => {
  expect(dueScrub(history, nowMs, EVERY)).toBe(expected);
});

test("what was cut off goes on where it was, and a deep one takes the place of a light one", () => {
  const light = advanced(begun(after(0, 0), "light", DAY), "abc");
  expect(dueScrub(light, DAY + 1, EVERY)).toBe("light");
  expect(begun(light, "light", DAY + 1)).toEqual(light);
  expect(dueScrub(light, 7 * DAY, EVERY)).toBe("deep");
  expect(begun(light, "deep", 7 * DAY).running).toEqual({ kind: "deep", startedAtMs: 7 * DAY, after: "" });
});

test("the end of a deep one is the end of a light one, not the other way round", () => {
  expect(ended(begun(after(1, 2), "deep", 5), 9)).toEqual(after(9, 9));
  expect(ended(begun(after(1, 2), "light", 5), 9)).toEqual(after(9, 2));
  expect(ended(after(1, 2), 9)).toEqual(after(1, 2));
});
