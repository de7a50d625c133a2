/** Tokens as the API shows them. Only the answer to a creation holds the token itself. */
import { z } from "zod";
import { time, timeOrNull, uid } from "./common.ts";
import { ROLES } from "./roles.ts";

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "1 to 63 letters, digits, dots, dashes, underscores");
const expiresAt = z.iso.datetime({ offset: true }).optional().describe("absent: does not expire");

export const newApiToken = z.strictObject({
  name,
  role: z.enum(ROLES),
  owner: z.string().min(1).max(100).optional().describe("who is accountable; default: the caller"),
  expiresAt,
});
export const newEnrollmentToken = z.strictObject({
  name,
  labels: z.record(z.string().min(1).max(100), z.string().max(200)).default({}),
  expiresAt,
});

const common = {
  id: uid,
  name: z.string(),
  createdAt: time,
  createdBy: z.string(),
  expiresAt: timeOrNull,
  revokedAt: timeOrNull,
};
const apiToken = z.object({ ...common, owner: z.string(), role: z.enum(ROLES) });
const enrollmentToken = z.object({
  ...common,
  labels: z.record(z.string(), z.string()),
  successorOf: z.string().nullable().describe("name of the token whose agents may come with this one"),
});
const secret = z.string().describe("shown this once");
export const createdApiToken = apiToken.extend({ token: secret });
export const createdEnrollmentToken = enrollmentToken.extend({ token: secret });
export const apiTokens = z.object({ items: z.array(apiToken) });
export const enrollmentTokens = z.object({ items: z.array(enrollmentToken) });
export const revoked = z.object({ id: uid, name: z.string(), changed: z.boolean() });

export const rotation = z
  .strictObject({
    name: name.optional().describe("of the successor; default: the name with the next number"),
    endsAt: z.iso
      .datetime({ offset: true })
      .optional()
      .describe("when the old token is refused; absent: when it is revoked, or as before"),
  })
  .nullish();

export const certificateDenial = z.strictObject({
  subject: z.string().min(1).max(200).describe("common name, or without one the first alternative name"),
  reason: z.string().min(1).max(500),
});
export const deniedCertificates = z.object({
  items: z.array(z.object({ subject: z.string(), reason: z.string(), deniedBy: z.string(), deniedAt: time })),
});
export const certificateChanged = z.object({ subject: z.string(), changed: z.boolean() });

export const snippetQuery = z.strictObject({
  transport: z.enum(["websocket", "http"]).default("websocket").describe("of the supervisor; an updater has a socket"),
});
export const enrolmentSnippet = z.object({
  files: z.array(
    z.object({
      name: z.enum(["supervisor", "base", "environment", "drop-in", "updater", "token"]),
      path: z.string().describe("where it belongs on a host with systemd"),
      mode: z.string().describe("octal"),
      content: z.string(),
    }),
  ),
  next: z.array(z.string()).describe("commands, in their order"),
});
