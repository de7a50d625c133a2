/** `samples/agents/*.yaml`: agents for validation only, no objects (gitops-schema, "samples/agents"). */
import { z } from "zod";
import { labels } from "./fields.ts";

export const sampleAgent = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .meta({ description: "Name of the sample, shown in issues.", examples: ["web-01"] }),
    attributes: z
      .record(z.string().min(1), z.union([z.string(), z.number(), z.boolean()]))
      .default({})
      .meta({
        description:
          "What the agent would report of itself: `host.name`, `os.type`, `host.arch`, `service.name`, `service.version`, `service.instance.id` (its UID) and any other attribute.",
        examples: [{ "host.name": "web-01", "os.type": "linux", "service.name": "otelcol-contrib" }],
      }),
    tokenLabels: labels
      .default({})
      .meta({ description: "Labels of the enrollment token that the agent would register with." }),
  })
  .meta({ description: "An agent for validation: every fleet is rendered for every sample that it matches." });
