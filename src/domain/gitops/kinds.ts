/** The kinds of objects that a repository holds, and their envelope (contract, "The object envelope"). */
import { z } from "zod";
import { blueprintSpec } from "./kinds/blueprint.ts";
import { executorSpec } from "./kinds/executor.ts";
import { labels, NAME } from "./kinds/fields.ts";
import { fleetSpec } from "./kinds/fleet.ts";
import { inventorySpec } from "./kinds/inventory.ts";
import { rolloutPolicySpec } from "./kinds/rollout-policy.ts";

export const KINDS = ["Blueprint", "Fleet", "RolloutPolicy", "Executor", "Inventory"] as const;
export type Kind = (typeof KINDS)[number];

/** One schema per kind; the compiler lists what is missing. */
export const SPECS = {
  Blueprint: blueprintSpec,
  Fleet: fleetSpec,
  RolloutPolicy: rolloutPolicySpec,
  Executor: executorSpec,
  Inventory: inventorySpec,
} as const satisfies Record<Kind, z.ZodType>;

export const metadata = z
  .strictObject({
    name: z
      .string()
      .regex(NAME, "must be lower-case letters, digits and -, 1 to 63 characters, no - at either end")
      .meta({
        description:
          "Unique per kind. A DNS label: lower-case letters, digits and `-`, 1 to 63 characters, no `-` at either end.",
        examples: ["linux-hosts"],
      }),
    description: z.string().optional().meta({ description: "For readers." }),
    labels: labels.optional().meta({
      description:
        "Free text, by name. Those of a fleet can be read by templates as `.fleet.labels`; they are not used for matching.",
      examples: [{ team: "edge-ops" }],
    }),
  })
  .meta({ description: "What the object is called." });
export type Metadata = z.infer<typeof metadata>;

export type SpecOf<K extends Kind> = z.output<(typeof SPECS)[K]>;

type Accepted<K extends Kind> = {
  kind: K;
  name: string;
  metadata: Metadata;
  spec: SpecOf<K>;
  /** Path in the repository and line (from 1) where the object begins. */
  source: { file: string; line: number };
};
/** An accepted object: defaults are filled in; durations, shares and versions are still the text of the repository. */
export type GitObject = { [K in Kind]: Accepted<K> }[Kind];
export type ObjectOf<K extends Kind> = Extract<GitObject, { kind: K }>;

export type Blueprint = ObjectOf<"Blueprint">;
export type Fleet = ObjectOf<"Fleet">;
export type RolloutPolicy = ObjectOf<"RolloutPolicy">;
export type Inventory = ObjectOf<"Inventory">;
