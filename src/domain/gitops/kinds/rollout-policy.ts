/** kind: RolloutPolicy — waves, thresholds and windows (gitops-schema, RolloutPolicy). Absent fields get the defaults. */
import { IANAZone } from "luxon";
import { z } from "zod";
import { duration, refuse, selector, share } from "./fields.ts";

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
const CLOCK = /^(?:[01]\d|2[0-3]):[0-5]\d$/;

const wave = z.strictObject({
  name: z.string().min(1).max(63),
  upTo: share.optional(),
  selector: selector.optional(),
  approval: z.enum(["none", "required", "two_person"]).default("none"),
  bake: duration.optional(),
});

const window = z
  .strictObject({
    days: z.array(z.enum(DAYS)).min(1),
    start: z.string().regex(CLOCK, "must be a time such as 22:00"),
    end: z.string().refine((text) => CLOCK.test(text) || text === "24:00", "must be a time such as 04:00, or 24:00"),
    timezone: z.string().refine(isZoneName, "must be UTC or an IANA name such as Europe/Berlin"),
  })
  .superRefine((at, context) => {
    if (at.start === at.end) context.addIssue(refuse("invalid_value", "start and end are the same"));
  });

/** `UTC` or a name with `/` that the time zone database knows; offsets and abbreviations are errors. */
function isZoneName(name: string): boolean {
  return name === "UTC" || (/^[A-Za-z_]+(?:\/[A-Za-z0-9_+-]+)+$/.test(name) && IANAZone.isValidZone(name));
}

export const rolloutPolicySpec = z
  .strictObject({
    waves: z.array(wave).max(50).default([]),
    maxConcurrent: share.default("10%"),
    healthWait: duration.default("2m"),
    targetTimeout: duration.default("30m"),
    targetMaxTime: duration.optional(),
    failureThreshold: z.strictObject({ wave: share.optional(), rollout: share.optional() }).default({ wave: "10%" }),
    onThreshold: z.enum(["pause", "abort", "rollback"]).default("pause"),
    offline: z
      .strictObject({ action: z.enum(["skip", "wait"]).default("skip"), after: duration.optional() })
      .transform((at) => (at.action === "skip" && at.after === undefined ? { ...at, after: "1h" } : at))
      .default({ action: "skip", after: "1h" }),
    onNewChange: z.enum(["supersede", "queue"]).default("supersede"),
    maintenanceWindows: z.array(window).default([]),
    finishInWindow: z.boolean().default(false),
    spacing: duration.optional(),
    approvalTimeout: duration.optional(),
  })
  .superRefine((at, context) => {
    const names = at.waves.map((wave) => wave.name);
    at.waves.forEach((wave, k) => {
      if (names.indexOf(wave.name) < k) {
        const message = `a wave before has the name ${wave.name} too`;
        context.addIssue({ ...refuse("invalid_value", message), path: ["waves", k, "name"] });
      }
      if (wave.upTo === undefined && wave.selector === undefined) {
        const message = "a wave needs upTo, selector or both";
        context.addIssue({ ...refuse("missing_field", message), path: ["waves", k, "upTo"] });
      }
    });
    if (at.maxConcurrent === 0 || at.maxConcurrent === "0" || at.maxConcurrent === "0%") {
      context.addIssue({ ...refuse("invalid_value", "must be at least 1"), path: ["maxConcurrent"] });
    }
  });
