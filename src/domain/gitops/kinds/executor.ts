/** kind: Executor — who hands a release over to the host (gitops-schema, Executor). Secrets are names only. */
import { z } from "zod";
import { duration, freeForm, refuse } from "./fields.ts";

const url = z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).refine((text) => {
  const { username, password } = new URL(text);
  return username === "" && password === "";
}, "must not contain credentials");
const secretName = z.string().min(1);

const awx = z.strictObject({
  url,
  jobTemplate: z.union([z.int().positive(), z.string().min(1)]),
  tokenFile: secretName.optional(),
  tokenEnv: secretName.optional(),
  extraVars: freeForm.default({}),
  verifyTls: z.boolean().default(true),
  pollInterval: duration.optional(),
  timeout: duration.optional(),
});

const webhook = z.strictObject({
  url,
  secretEnv: secretName.optional(),
  secretFile: secretName.optional(),
  timeout: duration.optional(),
  retries: z.int().min(0).max(20).optional(),
});

export const executorSpec = z
  .strictObject({ type: z.enum(["updater", "awx", "webhook"]), awx: awx.optional(), webhook: webhook.optional() })
  .superRefine((at, context) => {
    for (const section of ["awx", "webhook"] as const) {
      if (at.type === section && at[section] === undefined) {
        context.addIssue({ ...refuse("missing_field", `${section} is missing`), path: [section] });
      }
      if (at.type !== section && at[section] !== undefined) {
        const message = `${section} does not belong to an executor of type ${at.type}`;
        context.addIssue({ ...refuse("invalid_value", message), path: [section] });
      }
    }
    if (at.awx !== undefined && (at.awx.tokenFile === undefined) === (at.awx.tokenEnv === undefined)) {
      context.addIssue({ ...refuse("invalid_value", "give exactly one of tokenFile and tokenEnv"), path: ["awx"] });
    }
    if (at.webhook !== undefined && (at.webhook.secretFile === undefined) === (at.webhook.secretEnv === undefined)) {
      const message = "give exactly one of secretFile and secretEnv";
      context.addIssue({ ...refuse("invalid_value", message), path: ["webhook"] });
    }
  });
