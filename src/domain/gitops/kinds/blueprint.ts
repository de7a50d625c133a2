/** kind: Blueprint — a configuration template (gitops-schema, Blueprint). */
import { z } from "zod";
import { freeForm, reference } from "./fields.ts";

const PARAMETER_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

export const parameter = z
  .strictObject({
    type: z
      .enum(["string", "integer", "number", "boolean", "list", "map"])
      .meta({ description: "What a value must be. A template that is exactly one `{{ … }}` keeps this type." }),
    required: z
      .boolean()
      .optional()
      .meta({ description: "Whether fleet or inventory must give a value when there is no `default`." }),
    default: z
      .unknown()
      .optional()
      .meta({ description: "The value when neither fleet nor inventory gives one. It must fit the declaration." }),
    enum: z.array(z.unknown()).min(1).optional().meta({ description: "The only values that are allowed." }),
    pattern: z
      .string()
      .optional()
      .meta({
        description: "A regular expression (RE2) that must match somewhere in the value; only for type `string`.",
        examples: ["^[a-z0-9-]+$"],
      }),
    minimum: z.number().optional().meta({ description: "The least value; only for types `integer` and `number`." }),
    maximum: z.number().optional().meta({ description: "The greatest value; only for types `integer` and `number`." }),
    description: z.string().optional().meta({ description: "For readers: what the parameter is for." }),
  })
  .meta({ description: "The declaration of one parameter." });
export type Parameter = z.infer<typeof parameter>;

const fragment = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .meta({ description: "For readers and messages.", examples: ["host-metrics"] }),
    when: z
      .string()
      .min(1)
      .optional()
      .meta({
        description:
          "A template expression without braces. The fragment is merged when it is true; an attribute that the agent lacks counts as false. Absent: always.",
        examples: ['agent.os == "linux"', 'inventory.labels.tier == "edge"'],
      }),
    config: freeForm.meta({
      description:
        "Free-form collector configuration, merged over what came before. Component lists below `service` are appended to without duplicates, other lists are replaced, `null` removes a key.",
    }),
  })
  .meta({ description: "A part of the configuration that only some agents get." });

export const blueprintSpec = z
  .strictObject({
    extends: reference.optional().meta({
      description:
        "The parent blueprint. Its configuration, fragments and parameters come first. At most 8 in a chain.",
      examples: ["base"],
    }),
    parameters: z
      .record(z.string().regex(PARAMETER_NAME, "must be letters, digits and _, not beginning with a digit"), parameter)
      .default({})
      .meta({
        description:
          "Declared parameters by name (letters, digits and `_`, not beginning with a digit, at most 64 characters). Templates read them as `parameters.<name>`.",
      }),
    config: freeForm.default({}).meta({
      description:
        "Free-form collector configuration; every string in it is a template, map keys are not. Merged over the parent's: maps merge deep, lists are replaced, `null` removes a key. `${env:X}` and `${file:/x}` pass through untouched.",
    }),
    fragments: z
      .array(fragment)
      .default([])
      .meta({ description: "Merged after all `config` of the chain, ancestors' fragments first, in this order." }),
  })
  .meta({ description: "A template of the collector configuration." });
