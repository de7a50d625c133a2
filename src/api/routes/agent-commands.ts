/**
 * Commands to one agent: restart its collector, send it again what it has. Both at once, outside windows; refused while
 * something is being done to its host, so that nobody disturbs an update that runs.
 */
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { CHANNELS } from "../../domain/channels.ts";
import { failure, isFailure } from "../../domain/errors.ts";
import * as rest from "../../domain/rest/agent-config.ts";
import { uid } from "../../domain/rest/common.ts";
import { problems } from "../../domain/rest/problem.ts";
import {
  addCommand,
  giveUpCommand,
  lockCommandTarget,
  readCommandAnswer,
  type CommandKind,
  type CommandTarget,
} from "../../store/agent-commands.ts";
import { appendAudit, audit } from "../../store/audit.ts";
import { transaction, type Pool } from "../../store/database.ts";
import type { Listener } from "../../store/listen.ts";
import { COMMAND_WAIT_MS } from "../opamp/run-commands.ts";
import { principalOf, type Principal } from "../auth.ts";

type Deps = {
  pool: Pool;
  /** Must listen to CHANNELS.commands. */
  listener: Listener;
  now: () => Date;
};

const SUMMARY: Readonly<Record<CommandKind, string>> = {
  restart: "Restart its collector. Needs the capability; refused while an update of its host runs",
  resync: "Send it again what it should have, also if it refused it, and ask it for everything it knows",
};

export const agentCommandRoutes =
  (deps: Deps): FastifyPluginAsyncZod =>
  async (app) => {
    for (const kind of ["restart", "resync"] as const)
      app.route({
        method: "POST",
        url: `/agents/:uid/${kind}`,
        schema: {
          tags: ["agents"],
          summary: SUMMARY[kind],
          params: z.object({ uid }),
          body: rest.commandBody,
          response: { ...problems, 200: rest.commandAnswer },
        },
        handler: async (request) =>
          command(deps, { uid: request.params.uid, kind, reason: request.body?.reason }, principalOf(request)),
      });
  };

type Asked = { uid: string; kind: CommandKind; reason: string | undefined };

async function command(deps: Deps, asked: Asked, by: Principal): Promise<z.output<typeof rest.commandAnswer>> {
  const { pool, now } = deps;
  const entry = {
    principal: by.name,
    action: `agents.${asked.kind}`,
    object: asked.uid,
    detail: { ...(asked.reason !== undefined && { reason: asked.reason }) },
  };
  try {
    const { id, hostName } = await transaction(pool, async (tx) => {
      const target = await lockCommandTarget(tx, asked.uid);
      if (target === undefined) throw failure("not_found", { what: `agent ${asked.uid}` });
      refuse(target, asked.kind);
      const added = await addCommand(tx, { ...asked, by: by.name }, now());
      const detail = { ...entry.detail, hostName: target.hostName };
      await appendAudit(tx, { ...entry, outcome: "accepted", detail }, now());
      return { id: added, hostName: target.hostName };
    });
    const configHash = await answerOf(deps, id, hostName);
    return { uid: asked.uid, hostName, command: asked.kind, at: now().toISOString(), configHash };
  } catch (error) {
    if (isFailure(error) && error.code !== "not_found")
      await audit(pool, { ...entry, outcome: "refused", code: error.code }, now());
    throw error;
  }
}

/** AcceptsRestartCommand of OpAMP. */
const ACCEPTS_RESTART = 0x400n;

function refuse({ hostName, connected, capabilities, phase, offer, missing }: CommandTarget, kind: CommandKind): void {
  if (kind === "restart" && (capabilities & ACCEPTS_RESTART) === 0n)
    throw failure("not_supported", { host: hostName, capability: "AcceptsRestartCommand" });
  if (!connected) throw failure("agent_not_connected", { host: hostName });
  if (phase !== null) throw failure("attempt_in_flight", { host: hostName, because: `its attempt is in ${phase}` });
  if (offer !== null) throw failure("attempt_in_flight", { host: hostName, because: `a ${offer} offer is open` });
  if (kind === "resync" && missing !== null && missing.length > 0)
    throw failure("incompatible", { host: hostName, missing: missing.slice(0, 10).join(", ") });
}

const LOOK_MS = 500;

/** Waits until the process that holds the agent has done it. Resolves to what a resync sent. */
async function answerOf({ pool, listener, now }: Deps, id: string, host: string): Promise<string | null> {
  const untilMs = performance.now() + COMMAND_WAIT_MS;
  for (;;) {
    const seen = await readCommandAnswer(pool, id);
    const isOver = performance.now() >= untilMs;
    if (seen?.answer === "sent") return seen.config;
    if (seen?.answer === "not_connected") throw failure("agent_not_connected", { host });
    if (seen?.answer === "not_supported") throw failure("not_supported", { host, capability: "AcceptsRestartCommand" });
    // Given up first, so that nobody does it after we said that nobody did.
    if (isOver && (await giveUpCommand(pool, id, now()))) throw failure("command_unanswered", { host });
    await listener.next(CHANNELS.commands, LOOK_MS, (payload) => payload === id);
  }
}
