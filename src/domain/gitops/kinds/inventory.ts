/** kind: Inventory — what Git knows of hosts (gitops-schema, Inventory). Host names compare without case. */
import { z } from "zod";
import { freeForm, labels } from "./fields.ts";

const entry = z
  .strictObject({
    host: z
      .string()
      .min(1)
      .max(253)
      .meta({
        description:
          "The host name that the agent reports (`host.name`), compared without case. One entry per host in all Inventory objects together.",
        examples: ["edge-fra-01"],
      }),
    /** Any 16 bytes: OpAMP recommends UUIDv7 and forbids no other. */
    instanceUid: z
      .guid({ error: "must be an instance UID such as 01890a5d-ac96-774b-bcce-b302099a8057" })
      .optional()
      .meta({
        description:
          "Pins the entry to this agent. Without a pin the entry goes to whoever reports the host name; a name that two live agents report gives neither the entry.",
      }),
    credential: z
      .string()
      .min(1)
      .optional()
      .meta({
        description: "Pins the entry to the name of an enrollment token or the subject of a certificate.",
        examples: ["token-edge"],
      }),
    labels: labels.default({}).meta({
      description:
        "Labels of the host. Selectors see them over labels of the credential and attributes that it reports.",
      examples: [{ site: "fra", tier: "edge" }],
    }),
    parameters: freeForm.default({}).meta({
      description:
        "Free-form values for this host, over those of its fleet. A name must be declared by a blueprint or be read as `inventory.parameters.<name>`.",
    }),
    expected: z.boolean().default(false).meta({
      description: "Whether the host is shown as *missing* as long as it has never connected.",
    }),
  })
  .meta({ description: "What Git knows of one host." });
export type InventoryEntry = z.infer<typeof entry>;

export const inventorySpec = z
  .strictObject({ entries: z.array(entry).default([]).meta({ description: "One entry per host." }) })
  .meta({ description: "What Git knows of hosts: labels, parameters, which agent they are." });
