import { describe, expect, test } from "vitest";
import type { Window } from "./policy.ts";
import { windowsAt } from "./windows.ts";

const ALL = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
const at = (text: string): number => Date.parse(text);
const window = (
  days: readonly (typeof ALL)[number][],
  start: string,
  end: string,
  timezone = "Europe/Berlin",
): Window => ({
  days: [...days],
  start,
  end,
  timezone,
});
const span = (windows: Window[], from: string): [string, string] => {
  const opens = windowsAt(windows, at(from));
  const opensMs = opens.open ? at(from) : (opens.opensMs ?? 0);
  const inside = windowsAt(windows, opensMs);
  return [new Date(opensMs).toISOString(), inside.open ? new Date(inside.closesMs ?? 0).toISOString() : "closed"];
};

test("without windows offers may always be made", () => {
  expect(windowsAt([], 0)).toEqual({ open: true, closesMs: null });
});

describe("windows by the wall clock of their zone", () => {
  test.each([
    [
      "G1: the spring gap lies inside",
      window(["sun"], "01:00", "05:00"),
      "2027-03-27T12:00:00Z",
      ["2027-03-28T00:00:00.000Z", "2027-03-28T03:00:00.000Z"],
    ],
    [
      "G1: the hour that exists twice is open twice",
      window(["sun"], "01:00", "05:00"),
      "2027-10-30T12:00:00Z",
      ["2027-10-30T23:00:00.000Z", "2027-10-31T04:00:00.000Z"],
    ],
    [
      "a start inside the gap moves to its end",
      window(["sun"], "02:30", "05:00"),
      "2027-03-27T12:00:00Z",
      ["2027-03-28T01:00:00.000Z", "2027-03-28T03:00:00.000Z"],
    ],
    [
      "a window that the gap swallows does not open that day",
      window(["sun"], "02:00", "03:00"),
      "2027-03-27T12:00:00Z",
      ["2027-04-04T00:00:00.000Z", "2027-04-04T01:00:00.000Z"],
    ],
    [
      "over midnight, named by the day of its start",
      window(["fri"], "22:00", "04:00", "UTC"),
      "2026-12-04T00:00:00Z",
      ["2026-12-04T22:00:00.000Z", "2026-12-05T04:00:00.000Z"],
    ],
    [
      "over the week's end",
      window(["sun"], "23:00", "01:00", "UTC"),
      "2026-12-06T12:00:00Z",
      ["2026-12-06T23:00:00.000Z", "2026-12-07T01:00:00.000Z"],
    ],
    [
      "24:00 is an end",
      window(["mon"], "20:00", "24:00", "UTC"),
      "2026-12-07T00:00:00Z",
      ["2026-12-07T20:00:00.000Z", "2026-12-08T00:00:00.000Z"],
    ],
  ] as const)("%s", (_name, one, from, expected) => {
    expect(span([one], from)).toEqual(expected);
  });

  test("overlapping and touching windows are one", () => {
    const windows = [
      window(ALL, "10:00", "12:00", "UTC"),
      window(ALL, "12:00", "13:00", "UTC"),
      window(ALL, "11:00", "11:30", "UTC"),
    ];
    expect(span(windows, "2026-12-07T00:00:00Z")).toEqual(["2026-12-07T10:00:00.000Z", "2026-12-07T13:00:00.000Z"]);
  });

  test("a window that began yesterday is open now", () => {
    expect(windowsAt([window(["mon"], "22:00", "04:00", "UTC")], at("2026-12-08T01:00:00Z"))).toMatchObject({
      open: true,
    });
  });
});
