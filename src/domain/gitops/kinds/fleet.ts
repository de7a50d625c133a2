/** kind: Fleet — which agents get which blueprint and which collector version (gitops-schema, Fleet). */
import { parse, satisfies, validRange } from "semver";
import { z } from "zod";
import { exactlyOne, freeForm, reference, refuse, selector, versionText } from "./fields.ts";

const choice = z
  .strictObject({
    range: z
      .string()
      .regex(/\S/, "must be a range such as >=0.160.0 <0.170.0")
      .refine((text) => validRange(text) !== null, "must be a range such as >=0.160.0 <0.170.0")
      .optional()
      .meta({
        description:
          "Versions that may be chosen, in npm syntax. Pre-releases are never in it. Exactly one of `range` and `list`.",
        examples: [">=0.160.0 <0.170.0", "0.162.x"],
      }),
    list: z
      .array(versionText)
      .min(1)
      .optional()
      .meta({
        description: "The versions that may be chosen, one by one; pre-releases too.",
        examples: [["0.161.0", "0.162.0"]],
      }),
    default: versionText.meta({
      description: "The version as long as nobody has chosen one; inside `range` or `list`.",
    }),
  })
  .superRefine((at, context) => {
    if ((at.range === undefined) === (at.list === undefined)) {
      context.addIssue(refuse("invalid_value", "give exactly one of range and list"));
    } else if (isReadable(at) && !isAllowedChoice(at, at.default)) {
      const outside = `${at.default} lies outside of what the choice allows`;
      context.addIssue({ ...refuse("invalid_value", outside), path: ["default"] });
    }
  })
  .meta({
    description:
      "Instead of `target`: people choose the version in the web page or by the API, with a reason, and only inside this frame. A choice that Git no longer allows is dropped.",
    ...exactlyOne("range", "list"),
  });

/** What is malformed has its own issue. */
const isReadable = (at: { range?: string | undefined; list?: string[] | undefined; default: string }): boolean =>
  at.list?.length !== 0 && validRange(at.range ?? "*") !== null && versionText.safeParse(at.default).success;

/** May this version be chosen? Pre-releases only when the list names them. */
export const isAllowedChoice = (choice: { range?: string | undefined; list?: string[] | undefined }, version: string) =>
  choice.list?.includes(version) ??
  (choice.range !== undefined && parse(version)?.prerelease.length === 0 && satisfies(version, choice.range));

const version = z
  .strictObject({
    distribution: z.string().min(1).default("otelcol-contrib").meta({
      description: "A collector whose `service.name` differs is not offered the version (`wrong_distribution`).",
    }),
    target: versionText.optional().meta({
      description: "The version that the fleet runs. Exactly one of `target` and `choice`.",
      examples: ["0.162.0"],
    }),
    choice: choice.optional(),
    allowDowngrade: z.boolean().default(false).meta({
      description:
        "Whether a host may be taken to a version below the one that it runs. Without it only the one step back to the version before the last successful update is made; another host is left out with `downgrade_not_allowed`.",
    }),
  })
  .superRefine((at, context) => {
    if (at.target !== undefined && at.choice !== undefined) {
      context.addIssue(refuse("invalid_value", "give either target or choice, not both"));
    }
    if (at.target === undefined && at.choice === undefined) {
      const hint = "without a version the fleet manages configuration only: leave `version` out";
      context.addIssue(refuse("missing_field", "target (or choice) is missing", hint));
    }
  })
  .meta({
    description: "The collector version. Absent: the fleet manages configuration only.",
    ...exactlyOne("target", "choice"),
  });

const update = z
  .strictObject({
    executor: reference.optional().meta({
      description: "The Executor that hands a release over. Absent: the built-in `updater`.",
      examples: ["updater"],
    }),
    params: freeForm.default({}).meta({ description: "Free-form values for the executor." }),
  })
  .default({ params: {} })
  .meta({ description: "How a new version reaches the host." });

export const fleetSpec = z
  .strictObject({
    selector: selector.meta({
      description:
        "Which collectors belong to the fleet. `{}` matches every one. Labels of the inventory count over those of the enrollment token, these over attributes that the agent reports; labels of the fleet itself play no part.",
      examples: [{}, { matchLabels: { tier: "edge" } }],
    }),
    priority: z.int().default(0).meta({
      description:
        "Of several fleets that match, the highest gets the agent; of a tie, the name that sorts first (warning `ambiguous_fleet`).",
    }),
    blueprint: reference.meta({
      description: "The Blueprint that the agents' configuration is rendered from.",
      examples: ["base"],
    }),
    parameters: freeForm.default({}).meta({
      description: "Free-form values for the blueprint's parameters, over its defaults and under the inventory's.",
    }),
    version: version.optional(),
    rolloutPolicy: reference.optional().meta({
      description:
        "The RolloutPolicy of changes. Absent: the built-in `default` (one wave, 10% at once, pause at 10% failed).",
    }),
    update,
  })
  .meta({ description: "Which collectors get which configuration and which version." });
