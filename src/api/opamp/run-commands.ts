/**
 * Commands of people to agents that are connected here (decisions, "Server": restart, resync). A restart excludes all else
 * in its message; a resync sends the bytes again, whatever the agent thinks of them, and asks for everything it knows. A
 * configuration that a resync brought and the agent refuses is taken back at once, as in a rollout.
 */
import { CHANNELS } from "../../domain/channels.ts";
import { AGENT_CAPABILITY, COMMAND, hasBit, REMOTE_CONFIG_STATUS, SERVER_FLAG } from "../../protocol/messages.ts";
import type { ServerToAgent } from "../../protocol/messages.ts";
import { noteConfigsSent, type SentConfig } from "../../store/agent-config.ts";
import {
  answerCommands,
  lockCommands,
  lockFailedResyncs,
  tellAnswered,
  type Answered,
  type TakenCommand,
} from "../../store/agent-commands.ts";
import { appendAudit } from "../../store/audit.ts";
import { transaction, type Pool } from "../../store/database.ts";
import type { Listener } from "../../store/listen.ts";
import { configMessage } from "./offer-message.ts";
import type { Agent, Registry } from "./registry.ts";
import { noteSent } from "./note-sent.ts";

export type Commands = {
  /** Their rows say what they reported: one of them may have refused what a resync brought. */
  written: (agents: readonly Agent[]) => void;
  stop: () => Promise<void>;
};
type Deps = {
  pool: Pool;
  listener: Listener;
  registry: Registry;
  now: () => Date;
  onError: (error: unknown) => void;
};

/** An older command was given up by whoever waited for it. */
export const COMMAND_WAIT_MS = 5_000;

export function createCommands(deps: Deps): Commands {
  const { listener, registry, onError } = deps;
  let running: Promise<unknown> = Promise.resolve();
  const begin = (work: () => Promise<void>): void => {
    running = running.then(work).catch(onError);
  };
  const off = listener.on(CHANNELS.commands, (payload) => {
    const here = payload ? [registry.get(payload)] : Array.from(registry.all());
    const uids = here.flatMap((agent) => (agent?.connection === undefined ? [] : [agent.uid]));
    if (uids.length > 0) begin(() => runCommands(uids, deps));
  });
  return {
    written(agents) {
      const failed = agents.filter(
        ({ record, connection }) =>
          connection !== undefined && record?.remoteConfigStatus === REMOTE_CONFIG_STATUS.failed,
      );
      if (failed.length > 0) begin(() => takeBack(failed, deps));
    },
    async stop() {
      off();
      await running;
    },
  };
}

type Doing = { command: TakenCommand; answer: Answered; message: ServerToAgent | undefined };

async function runCommands(uids: readonly string[], deps: Deps): Promise<void> {
  const { pool, registry, now } = deps;
  const doings = await transaction(pool, async (tx) => {
    const taken = await lockCommands(tx, uids, new Date(now().getTime() - COMMAND_WAIT_MS));
    const all = taken.map((command) => prepare(command, registry.get(command.uid)));
    await noteConfigsSent(tx, all.flatMap(sentBy), now());
    await answerCommands(
      tx,
      all.map(({ answer }) => answer),
      now(),
    );
    return all;
  });
  for (const { command, answer, message } of doings) {
    const agent = registry.get(command.uid);
    if (message !== undefined && agent !== undefined) {
      if (message.remoteConfig !== undefined) noteSent(agent.record, Buffer.from(message.remoteConfig.configHash));
      if (command.kind === "resync") agent.askedFull = true;
    }
    if (message !== undefined && agent?.connection?.send(message) !== true)
      await answerCommands(pool, [{ ...answer, answer: "not_connected" }], now());
    await tellAnswered(pool, command.id);
  }
}

const sentBy = ({ command, message }: Doing): SentConfig[] =>
  message?.remoteConfig === undefined || command.config === null
    ? []
    : [{ uid: command.uid, hash: command.config, by: "resync" }];

function prepare(command: TakenCommand, agent: Agent | undefined): Doing {
  const { id, uid, kind, config, body } = command;
  const refused = (answer: Answered["answer"]): Doing => ({
    command,
    answer: { id, answer, config: null },
    message: undefined,
  });
  if (agent?.connection === undefined || agent.record === undefined) return refused("not_connected");
  const { capabilities } = agent.record;
  const plain = { instanceUid: uid, flags: 0n, capabilities: 0n };
  if (kind === "restart") {
    if (!hasBit(capabilities, AGENT_CAPABILITY.acceptsRestartCommand)) return refused("not_supported");
    const message = { ...plain, command: { type: COMMAND.restart } };
    return { command, answer: { id, answer: "sent", config: null }, message };
  }
  const ask = { ...plain, flags: SERVER_FLAG.reportFullState };
  const canTake = hasBit(capabilities, AGENT_CAPABILITY.acceptsRemoteConfig);
  if (!canTake || config === null || body === null || body.length === 0)
    return { command, answer: { id, answer: "sent", config: null }, message: ask };
  const message = { ...configMessage(uid, body, config), flags: SERVER_FLAG.reportFullState };
  return { command, answer: { id, answer: "sent", config }, message };
}

async function takeBack(agents: readonly Agent[], { pool, registry, now }: Deps): Promise<void> {
  const uids = agents.map(({ uid }) => uid);
  const back = await transaction(pool, async (tx) => {
    const found = await lockFailedResyncs(tx, uids);
    await noteConfigsSent(
      tx,
      found.map(({ uid, config }) => ({ uid, hash: config, by: "take_back" })),
      now(),
    );
    for (const { uid, config } of found)
      await appendAudit(
        tx,
        {
          principal: "system",
          action: "agents.take_back",
          object: `agent/${uid}`,
          outcome: "accepted",
          detail: { config: config.toString("hex"), because: "what a resync brought was refused" },
        },
        now(),
      );
    return found;
  });
  for (const { uid, config, body } of back) {
    const agent = registry.get(uid);
    noteSent(agent?.record, config);
    agent?.connection?.send(configMessage(uid, body, config));
  }
}
