/** kind: Executor — who hands a release over to the host (gitops-schema, Executor). Secrets are names only. */
import { z } from "zod";
import { duration, exactlyOne, freeForm, ifThen, refuse } from "./fields.ts";

const url = z
  .string()
  .regex(/^https?:\/\/[^\s/?#]+/, { error: "must be an http or https URL", abort: true })
  .refine((text) => URL.canParse(text), { error: "must be an http or https URL", abort: true })
  .refine((text) => {
    const parsed = URL.parse(text);
    return parsed === null || (parsed.username === "" && parsed.password === "");
  }, "must not contain credentials")
  .meta({ description: "An http or https URL without credentials." });
/** A folder in it, or a line break, could only be a mistake or an attempt. */
const envName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of an environment variable: letters, digits and _");
const fileName = z.string().regex(/^[^\r\n\t]+$/, "must be the name of a file");

const awx = z
  .strictObject({
    url: url.meta({ description: "Address of AWX, without `/api`.", examples: ["https://awx.example.com"] }),
    jobTemplate: z
      .union([z.int().positive(), z.string().min(1)], { error: "must be the id or the name of a job template" })
      .meta({
        description: "Id or name of the job template that installs the release.",
        examples: ["install-otelcol", 42],
      }),
    tokenFile: fileName.optional().meta({
      description: "Name of the file on the server that holds the token. Exactly one of `tokenFile` and `tokenEnv`.",
    }),
    tokenEnv: envName.optional().meta({
      description: "Name of the server's environment variable that holds the token.",
      examples: ["AWX_TOKEN"],
    }),
    extraVars: freeForm
      .default({})
      .meta({ description: "Free-form variables for the job, beside those that the server sets." }),
    verifyTls: z.boolean().default(true).meta({ description: "Whether the certificate of AWX is checked." }),
    pollInterval: duration.optional().meta({ description: "How often the state of a job is asked for." }),
    timeout: duration.optional().meta({ description: "How long a job may take." }),
  })
  .superRefine((at, context) => {
    if ((at.tokenFile === undefined) === (at.tokenEnv === undefined)) {
      context.addIssue(refuse("invalid_value", "give exactly one of tokenFile and tokenEnv"));
    }
  })
  .meta({
    description: "For type `awx`: a job template of AWX or Ansible Automation Platform.",
    ...exactlyOne("tokenFile", "tokenEnv"),
  });

const webhook = z
  .strictObject({
    url: url.meta({ description: "Where the request goes (POST).", examples: ["https://deploy.example.com/otelcol"] }),
    secretEnv: envName.optional().meta({
      description:
        "Name of the server's environment variable with the key of the signature (HMAC-SHA256). Exactly one of `secretEnv` and `secretFile`.",
      examples: ["DEPLOY_HOOK_SECRET"],
    }),
    secretFile: fileName.optional().meta({ description: "Name of the file on the server that holds the key." }),
    timeout: duration.optional().meta({ description: "How long one request may take." }),
    retries: z
      .int()
      .min(0)
      .max(20)
      .optional()
      .meta({ description: "How often a failed request is sent again, at most 20." }),
  })
  .superRefine((at, context) => {
    if ((at.secretFile === undefined) === (at.secretEnv === undefined)) {
      context.addIssue(refuse("invalid_value", "give exactly one of secretFile and secretEnv"));
    }
  })
  .meta({
    description: "For type `webhook`: a signed request with an idempotency key per target and attempt.",
    ...exactlyOne("secretEnv", "secretFile"),
  });

const SECTIONS = ["awx", "webhook"] as const;

/** For editors: each type has its own section and no other. */
const SECTION_RULES = (["updater", ...SECTIONS] as const).map((type) =>
  ifThen(
    { properties: { type: { const: type } }, required: ["type"] },
    {
      ...(type === "updater" ? {} : { required: [type] }),
      properties: Object.fromEntries(SECTIONS.filter((section) => section !== type).map((section) => [section, false])),
    },
  ),
);

export const executorSpec = z
  .strictObject({
    type: z.enum(["updater", "awx", "webhook"]).meta({
      description:
        "`updater`: a package offer to the updater beside the collector, built in. `awx`: a job of AWX. `webhook`: a signed request.",
    }),
    awx: awx.optional(),
    webhook: webhook.optional(),
  })
  .superRefine((at, context) => {
    for (const section of SECTIONS) {
      if (at.type === section && at[section] === undefined) {
        context.addIssue({ ...refuse("missing_field", `${section} is missing`), path: [section] });
      }
      if (at.type !== section && at[section] !== undefined) {
        const message = `${section} does not belong to an executor of type ${at.type}`;
        context.addIssue({ ...refuse("invalid_value", message), path: [section] });
      }
    }
  })
  .meta({
    description:
      "Who hands a release over to a host. Success is decided by what the collector itself reports. Secrets are named, never written.",
    allOf: SECTION_RULES,
  });
