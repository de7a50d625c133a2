/**
 * What the server does with each message: who says it, may it, is anything missing, fold it, answer once. Most messages
 * say nothing new and take the short way at the top.
 */
import { needsFullState } from "../../domain/agents/identity.ts";
import { decodeAgentToServer, Malformed } from "../../protocol/codec.ts";
import { SERVER_ERROR, SERVER_FLAG } from "../../protocol/messages.ts";
import type { AgentToServer } from "../../protocol/messages.ts";
import { scanAgentToServer } from "../../protocol/scan.ts";
import { applyReport, blankRecord } from "./apply-report.ts";
import { CLOSE, MAX_MESSAGE_BYTES, type Connection } from "./connection.ts";
import { plainWay } from "./plain-way.ts";
import type { Fold } from "./fold.ts";
import type { Agent } from "./registry.ts";
import type { Seal } from "./seal.ts";
import type { WhoSpeaks } from "./who-speaks.ts";

export type Receive = {
  /** Takes one frame of a connection. Frames of one connection are handled in their order. */
  frame: (connection: Connection, data: Buffer, isBinary: boolean) => void;
  /** Takes one message that is decoded already; `data` are its bytes. Resolves when it was handled and answered. */
  message: (connection: Connection, message: AgentToServer, data: Buffer) => Promise<void>;
  closed: (connection: Connection, detail: string) => void;
};
type Deps = {
  who: WhoSpeaks;
  fold: Fold;
  seal: Seal;
  /** What the server says of itself, once per connection. */
  capabilities: bigint;
  now: () => Date;
  /** An agent speaks over a connection for the first time: what is open for it can be sent. */
  onAttached: (agent: Agent) => void;
  /** The agent's record says what this message reports. */
  onReport: (agent: Agent, message: AgentToServer) => void;
  /** A message was refused, and with it the connection. */
  onRefused: (connection: Connection, code: "malformed_message" | "too_many_messages", because: string) => void;
  onError: (error: unknown) => void;
};

/** Frames of one connection that may wait while its row is read. */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 2 * MAX_MESSAGE_BYTES;
const MAX_EFFECTIVE_CONFIG_BYTES = 4 * 1024 ** 2;

export function createReceive(deps: Deps): Receive {
  return {
    frame(connection, data, isBinary) {
      connection.messageAtMs = connection.aliveAtMs = performance.now();
      if (!isBinary) return reject(connection, "messages are binary", deps);
      if (!connection.working && connection.waiting.length === 0 && isDonePlainly(connection, data, deps)) return;
      if (isFull(connection, data)) {
        deps.onRefused(connection, "too_many_messages", "more messages at once than are kept");
        return connection.close(CLOSE.policy, "too many messages at once");
      }
      connection.waiting.push(data);
      if (!connection.working) void work(connection, deps);
    },
    message: (connection, message, data) => handle(connection, message, data, deps),
    closed(connection, detail) {
      const { agent } = connection;
      connection.waiting.length = 0;
      if (agent !== undefined) deps.who.detach(connection, agent, detail);
    },
  };
}

/** A fault of ours costs the connection on which it showed, never the process with all the others. */
function isDonePlainly(connection: Connection, data: Buffer, deps: Deps): boolean {
  try {
    return plainWay(connection, data, deps);
  } catch (error) {
    deps.onError(error);
    connection.close(CLOSE.tryLater, "try again later");
    return true;
  }
}

const isFull = ({ waiting }: Connection, data: Buffer): boolean =>
  waiting.length >= MAX_WAITING || waiting.reduce((sum, frame) => sum + frame.length, data.length) > MAX_WAITING_BYTES;

async function work(connection: Connection, deps: Deps): Promise<void> {
  connection.working = true;
  try {
    for (let data = connection.waiting.shift(); data !== undefined; data = connection.waiting.shift())
      await handle(connection, decodeAgentToServer(data, MAX_MESSAGE_BYTES), data, deps);
  } catch (error) {
    connection.waiting.length = 0;
    if (error instanceof Malformed) reject(connection, error.message, deps);
    else {
      deps.onError(error);
      connection.close(CLOSE.tryLater, "try again later");
    }
  } finally {
    connection.working = false;
  }
}

/** The peer must not send this again: it is told so, then the connection ends. */
function reject(connection: Connection, rule: string, deps: Deps): void {
  deps.onRefused(connection, "malformed_message", rule);
  const errorResponse = { type: SERVER_ERROR.badRequest, errorMessage: rule };
  connection.send({ instanceUid: connection.agent?.uid ?? "", flags: 0n, capabilities: 0n, errorResponse });
  connection.close(CLOSE.malformed, "malformed message");
}

async function handle(connection: Connection, message: AgentToServer, data: Buffer, deps: Deps): Promise<void> {
  await deps.who.admit(connection, message, ({ agent, attached }) => {
    const ask = fold(agent, message, data, connection, attached, deps);
    answer(connection, message.instanceUid, ask ? SERVER_FLAG.reportFullState : 0n, deps);
    if (attached) deps.onAttached(agent);
    if (message.agentDisconnect) deps.who.detach(connection, agent, "the agent said goodbye");
  });
}

function answer(connection: Connection, instanceUid: string, flags: bigint, deps: Deps): void {
  if (connection.greeted && flags === 0n) return connection.acknowledge(instanceUid);
  const capabilities = connection.greeted ? 0n : deps.capabilities;
  connection.greeted = true;
  connection.send({ instanceUid, flags, capabilities });
}

/** Folds what the message reports. True when full state must be asked for: once, then its answer is awaited. */
function fold(
  agent: Agent,
  message: AgentToServer,
  data: Buffer,
  connection: Connection,
  attached: boolean,
  deps: Deps,
): boolean {
  const described = message.agentDescription !== undefined;
  const missing = needsFullState(agent.lastSequence, message.sequenceNum, described);
  agent.lastSequence = message.sequenceNum;
  // Without a row and without a description there is nobody yet to write down.
  if (agent.record === undefined && described) agent.record = blankRecord(agent.uid, connection.credential, deps.now());
  const { record } = agent;
  if (record !== undefined) {
    record.connected = true;
    record.credentialLabels = connection.credential.labels;
    const changes = applyReport(record, message, deps.now());
    keepRawHealth(agent, message, data);
    deps.onReport(agent, message);
    // The row says which process holds the connection: a mere reconnect is a change.
    if (changes.any || attached)
      deps.fold.changed(agent, { identity: changes.identity, ...sealed(message, deps.seal) });
    else deps.fold.heard(agent);
  }
  if (!missing && described) agent.askedFull = false;
  const ask = (missing || record === undefined) && !agent.askedFull;
  agent.askedFull ||= ask;
  return ask;
}

/** The bytes as they came: the next report with the same bytes need not be decoded. */
function keepRawHealth({ record }: Agent, message: AgentToServer, data: Buffer): void {
  if (record?.health == null || message.health === undefined) return;
  const scan = scanAgentToServer(data);
  if (scan !== undefined && scan.healthAt >= 0 && scan.healthEnd - scan.healthAt === record.health.length)
    record.health = Buffer.from(data.subarray(scan.healthAt, scan.healthEnd));
}

function sealed({ effectiveConfig }: AgentToServer, seal: Seal): { effectiveConfig?: Buffer } {
  if (effectiveConfig === undefined || effectiveConfig.configMap.size === 0) return {};
  const files = Array.from(effectiveConfig.configMap, ([name, { body, contentType }]) => ({
    name,
    contentType,
    body: Buffer.from(body).toString("utf8"),
  }));
  const plain = Buffer.from(JSON.stringify(files));
  return plain.length > MAX_EFFECTIVE_CONFIG_BYTES ? {} : { effectiveConfig: seal.seal(plain) };
}
