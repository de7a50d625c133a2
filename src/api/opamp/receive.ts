/**
 * What the server does with each message: who says it, may it, is anything missing, fold it, answer once. Most messages
 * say nothing new and take the short way at the top.
 */
import { judgeOwnership, needsFullState } from "../../domain/agents/identity.ts";
import { decodeAgentToServer, Malformed } from "../../protocol/codec.ts";
import {
  AGENT_FLAG,
  hasBit,
  SERVER_CAPABILITIES,
  SERVER_ERROR,
  SERVER_FLAG,
  textAttribute,
} from "../../protocol/messages.ts";
import type { AgentToServer, ServerToAgent } from "../../protocol/messages.ts";
import { scanAgentToServer } from "../../protocol/scan.ts";
import { applyReport, blankRecord } from "./apply-report.ts";
import { CLOSE, type Connection } from "./connection.ts";
import { plainReply, plainWay } from "./plain-way.ts";
import type { Fold } from "./fold.ts";
import type { Agent, Registry } from "./registry.ts";
import type { Seal } from "./seal.ts";

/** `asked`: the agent wanted another UID itself, which is no refusal. */
export type Renamed = { uid: string; newUid: string; credential: string; because: string; asked: boolean };
export type Receive = {
  /** Takes one frame of a connection. Frames of one connection are handled in their order. */
  frame(connection: Connection, data: Buffer, isBinary: boolean): void;
  closed(connection: Connection, code: number): void;
};
type Deps = {
  registry: Registry;
  fold: Fold;
  seal: Seal;
  now: () => Date;
  newUid: () => string;
  /** An agent speaks over a connection for the first time: what is open for it can be sent. */
  onAttached: (agent: Agent) => void;
  onRenamed: (renamed: Renamed) => void;
  onError: (error: unknown) => void;
};

/** Frames of one connection that may wait while its row is read. */
const MAX_WAITING = 64;
const MAX_EFFECTIVE_CONFIG_BYTES = 4 * 1024 ** 2;

export function createReceive(deps: Deps): Receive {
  return {
    frame(connection, data, isBinary) {
      connection.messageAtMs = connection.aliveAtMs = performance.now();
      if (!isBinary) return reject(connection, "messages are binary");
      if (!connection.working && connection.waiting.length === 0 && plainWay(connection, data, deps)) return;
      if (connection.waiting.length >= MAX_WAITING) return connection.close(CLOSE.policy, "too many messages at once");
      connection.waiting.push(data);
      if (!connection.working) void work(connection, deps);
    },
    closed(connection, code) {
      const { agent } = connection;
      connection.waiting.length = 0;
      if (agent !== undefined) detach(connection, agent, `closed with ${code}`, deps);
    },
  };
}

async function work(connection: Connection, deps: Deps): Promise<void> {
  connection.working = true;
  try {
    for (let data = connection.waiting.shift(); data !== undefined; data = connection.waiting.shift())
      await handle(connection, data, deps);
  } catch (error) {
    connection.waiting.length = 0;
    if (error instanceof Malformed) reject(connection, error.message);
    else {
      deps.onError(error);
      connection.close(CLOSE.tryLater, "try again later");
    }
  } finally {
    connection.working = false;
  }
}

/** The peer must not send this again: it is told so, then the connection ends. */
function reject(connection: Connection, rule: string): void {
  const errorResponse = { type: SERVER_ERROR.badRequest, errorMessage: rule };
  connection.send({ instanceUid: connection.agent?.uid ?? "", flags: 0n, capabilities: 0n, errorResponse });
  connection.close(CLOSE.malformed, "malformed message");
}

async function handle(connection: Connection, data: Buffer, deps: Deps): Promise<void> {
  const message = decodeAgentToServer(data);
  if (hasBit(message.flags, AGENT_FLAG.requestInstanceUid))
    return rename(connection, message, "the agent asked for one", deps);
  const agent = deps.registry.get(message.instanceUid) ?? (await deps.registry.load(message.instanceUid));
  if (!connection.open) return;
  const owner = agent.record && {
    credential: agent.record.credential,
    hostName: agent.record.hostName,
    connectedElsewhere: agent.connection !== undefined && agent.connection !== connection,
  };
  const { agentDescription } = message;
  const hostName = agentDescription && textAttribute(agentDescription.nonIdentifyingAttributes, "host.name");
  const verdict = judgeOwnership(owner, { credential: connection.credential.name, hostName });
  if (verdict.do === "rename") return rename(connection, message, verdict.because, deps);
  const attached = attach(connection, agent, deps);
  const ask = fold(agent, message, data, connection, deps);
  answer(connection, message.instanceUid, ask ? SERVER_FLAG.reportFullState : 0n);
  if (attached) deps.onAttached(agent);
  if (message.agentDisconnect) detach(connection, agent, "the agent said goodbye", deps);
}

function answer(connection: Connection, instanceUid: string, flags: bigint): void {
  if (connection.greeted && flags === 0n) return void connection.sendFrame(plainReply(instanceUid));
  const capabilities = connection.greeted ? 0n : SERVER_CAPABILITIES;
  connection.greeted = true;
  connection.send({ instanceUid, flags, capabilities });
}

/** Gives the sender another UID. Nothing that it said is kept: it will say everything again under the new one. */
function rename(connection: Connection, message: AgentToServer, because: string, deps: Deps): void {
  const first = connection.assignedUid === undefined;
  connection.assignedUid ??= deps.newUid();
  const reply: ServerToAgent = {
    instanceUid: message.instanceUid,
    flags: 0n,
    capabilities: connection.greeted ? 0n : SERVER_CAPABILITIES,
    agentIdentification: { newInstanceUid: connection.assignedUid },
  };
  connection.greeted = true;
  connection.send(reply);
  if (!first) return;
  const { name: credential } = connection.credential;
  const asked = hasBit(message.flags, AGENT_FLAG.requestInstanceUid);
  deps.onRenamed({ uid: message.instanceUid, newUid: connection.assignedUid, credential, because, asked });
}

/** From here on this connection is the agent's. True when it was not before. */
function attach(connection: Connection, agent: Agent, deps: Deps): boolean {
  if (connection.agent === agent && agent.connection === connection) return false;
  if (connection.agent !== undefined && connection.agent !== agent)
    detach(connection, connection.agent, "the connection goes on under another UID", deps);
  const older = agent.connection;
  if (older !== undefined && older !== connection) {
    older.agent = undefined;
    older.close(CLOSE.replaced, "replaced by a newer connection");
  }
  agent.connection = connection;
  agent.askedFull = false;
  connection.agent = agent;
  deps.fold.happened({ uid: agent.uid, at: deps.now(), event: "connected", detail: connection.address });
  return true;
}

/** The agent has no connection here any more, unless a newer one took it over. */
function detach(connection: Connection, agent: Agent, detail: string, deps: Deps): void {
  connection.agent = undefined;
  if (agent.connection !== connection) return;
  agent.connection = undefined;
  if (agent.record === undefined) return deps.registry.forget(agent);
  agent.record.connected = false;
  deps.fold.changed(agent);
  deps.fold.happened({ uid: agent.uid, at: deps.now(), event: "disconnected", detail });
}

/** Folds what the message reports. True when full state must be asked for: once, then its answer is awaited. */
function fold(agent: Agent, message: AgentToServer, data: Buffer, connection: Connection, deps: Deps): boolean {
  const described = message.agentDescription !== undefined;
  const missing = needsFullState(agent.lastSequence, message.sequenceNum, described);
  agent.lastSequence = message.sequenceNum;
  // Without a row and without a description there is nobody yet to write down.
  if (agent.record === undefined && described) agent.record = blankRecord(agent.uid, connection.credential, deps.now());
  const { record } = agent;
  if (record !== undefined) {
    const returned = !record.connected;
    record.connected = true;
    record.credentialLabels = connection.credential.labels;
    const changes = applyReport(record, message, deps.now());
    keepRawHealth(agent, message, data);
    if (changes.any || returned)
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
