/** kind: Inventory — what Git knows of hosts (gitops-schema, Inventory). Host names compare without case. */
import { z } from "zod";
import { freeForm, labels } from "./fields.ts";

const entry = z.strictObject({
  host: z.string().min(1).max(253),
  /** Pins the entry to one agent; without a pin the host is believed what it says of itself. */
  instanceUid: z.uuid().optional(),
  /** Pins the entry to an enrollment token's name or a certificate's subject. */
  credential: z.string().min(1).optional(),
  labels: labels.default({}),
  parameters: freeForm.default({}),
  expected: z.boolean().default(false),
});
export type InventoryEntry = z.infer<typeof entry>;

export const inventorySpec = z.strictObject({ entries: z.array(entry).default([]) });
