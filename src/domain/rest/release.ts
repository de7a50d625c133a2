/** Releases over REST. */
import { z } from "zod";

const reason = z.string().trim().min(1).max(1_000);
export const release = z.object({
  distribution: z.string(),
  version: z.string(),
  revoked: z
    .object({ at: z.string(), by: z.string(), reason: z.string() })
    .nullable()
    .describe("it is offered to nobody, and is no way back"),
  platforms: z.array(z.string()).describe("of its archives that were asked for"),
  hosts: z.int().describe("collectors that report it"),
});
export const releaseList = z.object({ items: z.array(release) });
export const releaseParams = z.object({
  distribution: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "is no distribution"),
  version: z
    .string()
    .regex(/^v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/, "is no version")
    .transform((text) => text.replace(/^v/, "")),
});
export const revokeBody = z.strictObject({ reason: reason.optional() }).nullish();
export const releaseChange = z.object({
  distribution: z.string(),
  version: z.string(),
  changed: z.boolean(),
  rollouts: z.array(z.string()).describe("that stopped, or go on: FLEET/N"),
});
/** A DELETE often comes without a body; it then lacks the reason. */
export const deleteBody = z.strictObject({ reason: reason.optional() }).nullish();
export const releaseDeleted = z.object({
  distribution: z.string(),
  version: z.string(),
  changed: z.boolean(),
  archives: z.int().describe("that depots remove after their grace time"),
});
