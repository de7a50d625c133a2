/** Durations and sizes as people write them in configuration files, as zod schemas that yield milliseconds and bytes. */
import { z } from "zod";

const UNITS_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;

/** `90s`, `1h30m`, `24h`, `30d`, or `0` → whole milliseconds. */
export const durationMs = z.union([z.string(), z.number()]).transform((value, context) => {
  if (value === 0 || value === "0") return 0;
  const text = String(value);
  if (!DURATION.test(text)) {
    context.addIssue({ code: "custom", message: `not a duration: write for example 90s, 5m, 1h30m or 30d` });
    return z.NEVER;
  }
  const parts = Array.from(text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g));
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS_MS[unit ?? ""] ?? 0), 0));
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
