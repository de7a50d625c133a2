/** Agents as the API shows them. */
import { z } from "zod";
import { VERDICTS } from "../rollout/explain-host.ts";
import { WALK_STEPS } from "../rollout/explain-walk.ts";
import { page, pageQuery, reason, time, timeOrNull, uid } from "./common.ts";

export const agent = z.object({
  uid,
  kind: z.enum(["collector", "updater", "unknown"]),
  kindReason: z.string(),
  hostName: z.string(),
  serviceName: z.string(),
  version: z.string().describe("as the agent itself reports it"),
  os: z.string(),
  arch: z.string(),
  connected: z.boolean(),
  firstSeenAt: time,
  lastSeenAt: time,
  healthy: z.boolean(),
  healthySince: timeOrNull,
  healthStatus: z.string(),
  lastError: z.string(),
  remoteConfig: z.object({
    hash: z.string().nullable(),
    status: z.enum(["unset", "applied", "applying", "failed"]),
    error: z.string(),
    state: z
      .enum(["none", "sent", "applying", "applied", "failed", "returned", "unanswered", "incompatible"])
      .describe("returned: it refused one and runs the one before; unanswered: sent, and no status came"),
    text: z.string(),
    missing: z.array(z.string()).describe("components of the wanted configuration that its build does not have"),
    drift: z.array(z.string()).nullable().describe("where it runs something else than it was sent; null: not judged"),
    sentHash: z.string().nullable(),
    sentAt: timeOrNull,
  }),
  health: z
    .object({ ok: z.boolean(), because: z.string() })
    .describe("judged: a collector whose pipelines do not run is not well, whatever it says"),
  updater: z
    .object({
      installMethod: z.string().nullable(),
      supervisorService: z.string().nullable(),
      serverEndpoint: z.string().nullable(),
      imageCollectorVersion: z.string().nullable(),
      downloadBase: z.string().describe("where it is told to download from"),
      package: z
        .object({ status: z.string(), version: z.string(), offeredVersion: z.string(), error: z.string() })
        .nullable(),
    })
    .nullable()
    .describe("what the updater itself, or the one of this collector, reports; null: there is none"),
  fleet: z.string().nullable().describe("null: unassigned, keeps what it has"),
  fleetReason: z.string(),
  wants: z.object({
    version: z.string().nullable(),
    configHash: z.string().nullable(),
    renderError: z.string().nullable(),
  }),
  offered: z
    .object({
      kind: z.enum(["package", "config", "withdraw"]),
      version: z.string().nullable(),
      openedAt: time,
      sentAt: timeOrNull,
    })
    .nullable(),
  phase: z.string().nullable().describe("of its open attempt"),
  phaseSince: timeOrNull,
  link: z.object({ state: z.enum(["none", "linked", "mismatch"]), reason: z.string(), uid: uid.nullable() }),
  why: z.string().describe("one sentence: what keeps it from being as wanted, or that all is well"),
});
export const agentPage = page(agent);

export const agentDetail = agent.extend({
  attributes: z.record(z.string(), z.unknown()).describe("values of keys like token or password are masked"),
  labels: z.record(z.string(), z.string()).describe("of its credential"),
  unhealthyComponents: z.array(z.string()),
  packageStatus: z.unknown(),
  updateAttempt: z.unknown(),
  connections: z.array(z.object({ at: time, event: z.string(), detail: z.string() })),
});

const walkLine = z.object({ step: z.enum(WALK_STEPS), says: z.string() });
export const explanation = z.object({
  uid,
  hostName: z.string(),
  verdict: z.enum(VERDICTS),
  says: z.string().describe("one sentence: why it is not updated, or that it is as Git wants"),
  next: z
    .object({ what: z.string(), at: timeOrNull })
    .nullable()
    .describe("what happens next by itself, and when if that is known; null: nothing does"),
  waitsFor: z.enum(["host", "person", "server", "nobody"]),
  todo: z.string().nullable().describe("what an operator can do about it; null: nothing is needed"),
  version: z.array(walkLine).describe("from the binary that runs back to artifact, signer, rollout, commit and object"),
  configuration: z
    .array(walkLine)
    .describe("from the configuration that it has back to the objects it was rendered from"),
  because: z.array(z.object({ what: z.string(), why: z.string() })),
});

const flag = z.enum(["true", "false"]).transform((text) => text === "true");
export const agentQuery = pageQuery.extend({
  kind: z.enum(["collector", "updater", "unknown"]).optional(),
  fleet: z.string().max(63).optional(),
  unassigned: flag.optional(),
  connected: flag.optional(),
  healthy: flag.optional(),
  version: z.string().max(100).optional(),
  host: z.string().max(255).optional().describe("part of the host name"),
});
export const deleteBody = z
  .strictObject({
    reason: reason.optional(),
    force: z.boolean().optional().describe("also while an update of it is in flight"),
  })
  .nullish();
export const deleted = z.object({ uid, hostName: z.string() });
