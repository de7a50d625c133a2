/** kind: RolloutPolicy — waves, thresholds and windows (gitops-schema, RolloutPolicy). Absent fields get the defaults. */
import { IANAZone } from "luxon";
import { z } from "zod";
import { parseShare } from "../share.ts";
import { duration, refuse, selector, share } from "./fields.ts";

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
const CLOCK = /^(?:[01]\d|2[0-3]):[0-5]\d$/;
const CLOCK_END = /^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/;
/** `UTC` or a name with `/`; offsets and abbreviations are errors, and so are names that the database does not know. */
const ZONE = /^(?:UTC|[A-Za-z_]+(?:\/[A-Za-z0-9_+-]+)+)$/;

const wave = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(63)
      .meta({ description: "Unique in the policy.", examples: ["canary"] }),
    upTo: share.optional().meta({
      description:
        "How many targets are done when the wave ends, cumulative over the rollout, rounded up. With `selector` a share of the targets that match (absent: all of them). A wave needs `upTo`, `selector` or both.",
      examples: [1, "10%", "50%"],
    }),
    selector: selector.optional().meta({ description: "The wave takes only targets that match." }),
    approval: z.enum(["none", "required", "two_person"]).default("none").meta({
      description: "Whether the wave waits until one person, or two different ones, approve it.",
    }),
    bake: duration.optional().meta({ description: "How long the next wave waits after this one has ended." }),
  })
  .meta({
    description: "A part of the targets. Whatever the waves leave forms a last one, `rest`.",
    anyOf: [{ required: ["upTo"] }, { required: ["selector"] }],
  });

const window = z
  .strictObject({
    days: z
      .array(z.enum(DAYS))
      .min(1)
      .meta({ description: "Days on which the window starts.", examples: [["mon", "tue"]] }),
    start: z
      .string()
      .regex(CLOCK, "must be a time such as 22:00")
      .meta({ description: "When it opens, by the wall clock of the zone.", examples: ["22:00"] }),
    end: z
      .string()
      .regex(CLOCK_END, "must be a time such as 04:00, or 24:00")
      .meta({
        description: "When it closes; not after `start`: on the next day. `24:00` is the end of the day.",
        examples: ["04:00", "24:00"],
      }),
    timezone: z
      .string()
      .regex(ZONE, { error: "must be UTC or an IANA name such as Europe/Berlin", abort: true })
      .refine((name) => IANAZone.isValidZone(name), "must be UTC or an IANA name such as Europe/Berlin")
      .meta({
        description: "`UTC` or an IANA name with `/`; no offset, no abbreviation.",
        examples: ["Europe/Berlin", "UTC"],
      }),
  })
  .superRefine((at, context) => {
    if (at.start === at.end) context.addIssue(refuse("invalid_value", "start and end are the same"));
  })
  .meta({
    description:
      "A time in which offers are made. A start that daylight saving skips moves to the end of the gap; an hour that exists twice is open twice.",
  });

const failureThreshold = z
  .strictObject({
    wave: share.optional().meta({ description: "Of the targets in play when the wave began.", examples: ["10%", 0] }),
    rollout: share.optional().meta({ description: "Of the targets in play when the rollout began.", examples: ["5%"] }),
  })
  .default({ wave: "10%" })
  .meta({
    description:
      "How many failures are allowed, rounded down: `20%` of 10 stops at the third, `0` at the first. A failure is checked against each that is given.",
  });

const offline = z
  .strictObject({
    action: z.enum(["skip", "wait"]).default("skip").meta({
      description:
        "`skip`: after `after` the wave ends without targets that are not connected; they are updated when they come back. `wait`: the wave waits for them.",
    }),
    after: duration.optional().meta({
      description: "For `skip` 1h when absent. For `wait`: when the rollout pauses; absent: it waits for ever.",
    }),
  })
  .transform((at) => (at.action === "skip" && at.after === undefined ? { ...at, after: "1h" } : at))
  .prefault({ action: "skip", after: "1h" })
  .meta({ description: "What happens with targets that are not connected." });

export const rolloutPolicySpec = z
  .strictObject({
    waves: z
      .array(wave)
      .max(50)
      .default([])
      .meta({ description: "In order, at most 50. None: one wave over all targets." }),
    maxConcurrent: share
      .default("10%")
      .meta({ description: "How many targets may be in flight at once, at least 1; a share is one of the fleet." }),
    healthWait: duration
      .default("2m")
      .meta({ description: "How long the collector must report the target version and stay healthy without a break." }),
    targetTimeout: duration.default("30m").meta({
      description:
        "How long a target may go without progress: a new step, a growing download or an announced wait starts it again.",
    }),
    targetMaxTime: duration
      .optional()
      .meta({ description: "How long a target may take altogether. Absent: no bound." }),
    failureThreshold,
    onThreshold: z
      .enum(["pause", "abort", "rollback"])
      .default("pause")
      .meta({ description: "What happens when more fail than allowed." }),
    offline,
    onNewChange: z.enum(["supersede", "queue"]).default("supersede").meta({
      description:
        "What a newer change of the fleet does to a running rollout: replace it, or wait until it ends (only the newest waits).",
    }),
    maintenanceWindows: z.array(window).default([]).meta({
      description:
        "Outside of all windows no new offer is made; targets that have begun finish. Windows that overlap merge. None: always open.",
    }),
    finishInWindow: z.boolean().default(false).meta({
      description:
        "Whether a target starts only if it is expected to finish in the window (90th percentile of this rollout, at first `healthWait` and 5 minutes).",
    }),
    spacing: duration.optional().meta({ description: "The least time between two offers." }),
    approvalTimeout: duration.optional().meta({
      description: "When it runs out before an approval, the rollout pauses; it never goes on by itself.",
    }),
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
    if (isNothing(at.maxConcurrent)) {
      context.addIssue({ ...refuse("invalid_value", "must be at least 1"), path: ["maxConcurrent"] });
    }
  })
  .meta({ description: "How a change reaches the hosts of a fleet: waves, thresholds, windows." });

/** A cap of nothing would never offer: `0`, `"0%"`, `"0.0%"`, `"00"`. */
function isNothing(text: string | number): boolean {
  const value = parseShare(text);
  return value !== undefined && ("count" in value ? value.count : value.percent) === 0;
}
