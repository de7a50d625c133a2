/** kind: Blueprint — a configuration template (gitops-schema, Blueprint). */
import { z } from "zod";
import { freeForm, reference } from "./fields.ts";

const PARAMETER_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

export const parameter = z.strictObject({
  type: z.enum(["string", "integer", "number", "boolean", "list", "map"]),
  required: z.boolean().optional(),
  default: z.unknown().optional(),
  enum: z.array(z.unknown()).min(1).optional(),
  pattern: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  description: z.string().optional(),
});
export type Parameter = z.infer<typeof parameter>;

export const blueprintSpec = z.strictObject({
  extends: reference.optional(),
  parameters: z
    .record(z.string().regex(PARAMETER_NAME, "must be letters, digits and _, not beginning with a digit"), parameter)
    .default({}),
  config: freeForm.default({}),
  fragments: z
    .array(z.strictObject({ name: z.string().min(1), when: z.string().min(1).optional(), config: freeForm }))
    .default([]),
});
