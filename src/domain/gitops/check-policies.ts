/** Policies that can never act: `finishInWindow` with windows too short for any target (gitops-schema, RolloutPolicy). */
import { durationMs } from "./duration.ts";
import type { Issue } from "./issue-codes.ts";
import type { RolloutPolicy } from "./kinds.ts";
import { locatedOf, report, type Revision } from "./revision.ts";

const DAY = 24 * 60;
const WEEK = 7 * DAY;
const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/** Before a rollout has attempts of its own, one is expected to take its health wait and this (gitops-schema). */
const FIRST_ESTIMATE_MS = 5 * 60_000;

export function checkPolicies(revision: Revision): Issue[] {
  return locatedOf(revision, "RolloutPolicy").flatMap((located) => {
    const { finishInWindow, maintenanceWindows, healthWait } = located.object.spec;
    if (!finishInWindow || maintenanceWindows.length === 0) return [];
    const needMinutes = Math.ceil((durationMs(healthWait) + FIRST_ESTIMATE_MS) / 60_000);
    const haveMinutes = longestMinutes(maintenanceWindows);
    if (haveMinutes >= needMinutes) return [];
    const message = `a target takes about ${needMinutes} minutes, the longest window has ${haveMinutes}: none would start`;
    return [report(located, { code: "invalid_value", path: ["spec", "finishInWindow"], at: "value", message })];
  });
}

type Windows = RolloutPolicy["spec"]["maintenanceWindows"];

/** The longest time open without a break, windows of one zone merged. */
function longestMinutes(windows: Windows): number {
  const zones = [...new Set(windows.map(({ timezone }) => timezone))];
  return Math.max(...zones.map((zone) => longestRun(windows.filter(({ timezone }) => timezone === zone))));
}

function longestRun(windows: Windows): number {
  const open = Array.from({ length: WEEK }, () => false);
  for (const { days, start, end } of windows) {
    const from = minuteOf(start);
    const length = (minuteOf(end) - from + DAY) % DAY || DAY;
    for (const day of days) {
      for (let minute = 0; minute < length; minute++) open[(DAYS.indexOf(day) * DAY + from + minute) % WEEK] = true;
    }
  }
  if (open.every(Boolean)) return WEEK;
  let longest = 0;
  let run = 0;
  for (const isOpen of [...open, ...open]) {
    run = isOpen ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}

const minuteOf = (clock: string): number => {
  const [hours = "0", minutes = "0"] = clock.split(":");
  return Number(hours) * 60 + Number(minutes);
};
