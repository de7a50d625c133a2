/** Durations and sizes as people write them in configuration files, as zod schemas that yield milliseconds and bytes. */
import { z } from "zod";
import { parseDuration } from "../gitops/duration.ts";

const DAY_MS = 86_400_000;

/** `90s`, `1h30m`, `30d`, or `0` → whole milliseconds. Days are ours: configuration speaks of retention, policies do not. */
export const durationMs = z.union([z.string(), z.number()]).transform((value, context) => {
  const [, days, rest] = /^(?:(\d+)d)?(.*)$/s.exec(String(value)) ?? [];
  const ms = days !== undefined && rest === "" ? 0 : parseDuration(rest ?? "");
  if (ms === undefined) {
    context.addIssue({ code: "custom", message: "not a duration: write for example 90s, 5m, 1h30m or 30d" });
    return z.NEVER;
  }
  return Number(days ?? 0) * DAY_MS + ms;
});

const UNITS_BYTES: Record<string, number> = { "": 1, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** `64MiB`, `4KiB` or a number of bytes → bytes. */
export const sizeBytes = z.union([z.string(), z.number()]).transform((value, context) => {
  const match = /^(\d+)\s*(B|KiB|MiB|GiB)?$/.exec(String(value));
  if (match === null) {
    context.addIssue({ code: "custom", message: `not a size: write for example 64MiB` });
    return z.NEVER;
  }
  return Number(match[1]) * (UNITS_BYTES[match[2] ?? ""] ?? 1);
});
