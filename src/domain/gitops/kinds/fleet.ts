/** kind: Fleet — which agents get which blueprint and which collector version (gitops-schema, Fleet). */
import { satisfies, validRange } from "semver";
import { z } from "zod";
import { freeForm, reference, refuse, selector, versionText } from "./fields.ts";

const choice = z
  .strictObject({
    range: z
      .string()
      .refine((text) => validRange(text) !== null, "must be a range such as >=0.160.0 <0.170.0")
      .optional(),
    list: z.array(versionText).min(1).optional(),
    default: versionText,
  })
  .superRefine((at, context) => {
    if ((at.range === undefined) === (at.list === undefined)) {
      context.addIssue(refuse("invalid_value", "give exactly one of range and list"));
    } else if (!isAllowedChoice(at, at.default)) {
      const outside = `${at.default} lies outside of what the choice allows`;
      context.addIssue({ ...refuse("invalid_value", outside), path: ["default"] });
    }
  });

/** May this version be chosen? Pre-releases only when the list names them. */
export const isAllowedChoice = (choice: { range?: string | undefined; list?: string[] | undefined }, version: string) =>
  choice.list?.includes(version) ?? (choice.range !== undefined && satisfies(version, choice.range));

const version = z
  .strictObject({
    distribution: z.string().min(1).default("otelcol-contrib"),
    target: versionText.optional(),
    choice: choice.optional(),
    allowDowngrade: z.boolean().default(false),
  })
  .superRefine((at, context) => {
    if (at.target !== undefined && at.choice !== undefined) {
      context.addIssue(refuse("invalid_value", "give either target or choice, not both"));
    }
    if (at.target === undefined && at.choice === undefined) {
      const hint = "without a version the fleet manages configuration only: leave `version` out";
      context.addIssue(refuse("missing_field", "target (or choice) is missing", hint));
    }
  });

export const fleetSpec = z.strictObject({
  selector,
  priority: z.int().default(0),
  blueprint: reference,
  parameters: freeForm.default({}),
  version: version.optional(),
  rolloutPolicy: reference.optional(),
  update: z.strictObject({ executor: reference.optional(), params: freeForm.default({}) }).default({ params: {} }),
});
