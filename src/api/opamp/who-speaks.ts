/**
 * For whom a connection speaks. A message may name another UID at any time; the rules of identity say whether the
 * connection gets that agent, another UID, or no answer. At most one connection of the fleet is an agent's: the older one
 * ends here, and other processes are told to let go.
 */
import { judgeOwnership, type Owner, type Ownership, type Rivalry } from "../../domain/agents/identity.ts";
import { AGENT_FLAG, hasBit, textAttribute } from "../../protocol/messages.ts";
import type { AgentToServer } from "../../protocol/messages.ts";
import { CLOSE, type Connection } from "./connection.ts";
import type { Fold } from "./fold.ts";
import type { Agent, Registry } from "./registry.ts";

/** `asked`: the agent wanted another UID itself, which is no refusal. */
export type Renamed = { uid: string; newUid: string; credential: string; because: string; asked: boolean };
/** An agent came with the successor of its credential. */
export type Moved = { uid: string; from: string; to: string };
/** `attached`: it speaks over this connection for the first time. */
export type Admitted = { agent: Agent; attached: boolean };
export type WhoSpeaks = {
  /**
   * Finds the agent that this message speaks for, which is then the connection's, and calls `speak`; not when the message
   * was answered already, or is not to be. What the message says is taken in the same breath: a clone that comes in the
   * same moment is judged by it.
   */
  admit(connection: Connection, message: AgentToServer, speak: (admitted: Admitted) => void): Promise<void>;
  /** The agent has no connection here any more, unless a newer one took it over. */
  detach(connection: Connection, agent: Agent, detail: string): void;
  /** Another process, `replica`, has this agent's connection now. */
  letGo(uid: string, replica: string): void;
  /** Somebody deleted the agent: its connection ends, and what comes back is a stranger. */
  forget(uid: string): void;
};
type Deps = {
  registry: Registry;
  fold: Fold;
  /** What the server says of itself, once per connection. */
  capabilities: bigint;
  now: () => Date;
  newUid: () => string;
  onRenamed: (renamed: Renamed) => void;
  onMoved: (moved: Moved) => void;
  /** An agent that another process held speaks here now. */
  onTakenOver: (uid: string) => void;
};

/**
 * How long somebody who was displaced is expected back: it comes at once, or never. Longer, and a process that was merely
 * restarted would count up to where the old one was, and look like the old one when its connection breaks just then.
 */
const RIVALRY_MS = 60_000;
/** How long a parked connection stays silent. */
const PARKED_MS = 60_000;
const MAX_RIVALS = 10_000;
const SETTLE_TRIES = 5;
const SETTLE_MS = 150;

type State = Deps & {
  rivals: Map<string, Rivalry & { untilMs: number }>;
  /** Whom another process took, and which one: its row may not say so yet. */
  away: Map<string, string>;
};

export function createWhoSpeaks(deps: Deps): WhoSpeaks {
  const state: State = { ...deps, rivals: new Map(), away: new Map() };
  return {
    async admit(connection, message, speak) {
      if (performance.now() < connection.parkedUntilMs) return;
      const uid = message.instanceUid;
      const known = connection.agent;
      if (hasBit(message.flags, AGENT_FLAG.requestInstanceUid) || connection.refusedUid === uid) {
        return rename(connection, message, "the agent asked for one", state);
      }
      if (known?.uid === uid && known.connection === connection) return speak({ agent: known, attached: false });
      const agent = deps.registry.get(uid) ?? (await loadSettled(uid, state));
      if (!connection.open) return;
      const admitted = follow(connection, message, agent, judge(connection, message, agent, state), state);
      if (admitted !== undefined) speak(admitted);
    },
    detach: (connection, agent, detail) => detach(connection, agent, detail, state),
    letGo(uid, replica) {
      if (state.away.size >= MAX_RIVALS) state.away.clear();
      state.away.set(uid, replica);
      const agent = deps.registry.get(uid);
      if (agent === undefined) return;
      const { connection, record, lastSequence } = agent;
      // Whoever is sent away may be the one that was there first: it may come back here.
      if (connection !== undefined && record !== undefined && lastSequence !== undefined)
        remember(uid, { sequence: lastSequence, startTimeNanos: record.startTimeNanos, returns: 0 }, state);
      leave(agent, CLOSE.replaced, "replaced by a newer connection", state);
    },
    forget(uid) {
      const agent = deps.registry.get(uid);
      if (agent !== undefined) leave(agent, CLOSE.goingAway, "the agent was deleted", state);
    },
  };
}

/**
 * The agent by its row. Whom another process took a moment ago may have a row that does not say so yet: it is written
 * within a quarter of a second, and is worth the wait, because who came back too early would be judged by its own words.
 */
async function loadSettled(uid: string, { registry, away }: State): Promise<Agent> {
  const taker = away.get(uid);
  for (let tries = 0; taker !== undefined && tries < SETTLE_TRIES; tries++) {
    const agent = await registry.load(uid);
    if (agent.heldBy !== undefined || agent.record?.replica === taker || agent.connection !== undefined) return agent;
    registry.forget(agent);
    await new Promise((resolve) => {
      setTimeout(resolve, SETTLE_MS);
    });
  }
  away.delete(uid);
  return registry.load(uid);
}

function judge(connection: Connection, message: AgentToServer, agent: Agent, deps: State): Ownership {
  const { record } = agent;
  const older = agent.connection;
  const held: Owner["held"] = older?.open === true ? "here" : agent.heldBy === undefined ? "no" : "elsewhere";
  const owner = record && {
    credential: record.credential,
    hostName: record.hostName,
    sequence: agent.lastSequence,
    startTimeNanos: record.startTimeNanos,
    held,
  };
  const { agentDescription } = message;
  const claim = {
    credential: connection.credential.name,
    succeeds: connection.credential.succeeds,
    hostName: agentDescription && textAttribute(agentDescription.nonIdentifyingAttributes, "host.name"),
    sequence: message.sequenceNum,
    described: agentDescription !== undefined,
  };
  const rivalry = deps.rivals.get(agent.uid);
  return judgeOwnership(
    owner,
    claim,
    rivalry !== undefined && rivalry.untilMs > deps.now().getTime() ? rivalry : undefined,
  );
}

function follow(
  connection: Connection,
  message: AgentToServer,
  agent: Agent,
  verdict: Ownership,
  deps: State,
): Admitted | undefined {
  switch (verdict.do) {
    case "rename":
      rename(connection, message, verdict.because, deps);
      return undefined;
    case "park":
      connection.parkedUntilMs = performance.now() + PARKED_MS;
      return undefined;
    case "rename_holder":
      if (agent.connection !== undefined) renameHolder(agent.connection, agent, verdict.because, deps);
      deps.rivals.delete(agent.uid);
      break;
    case "take":
      remember(agent.uid, verdict.rivalry, deps);
  }
  if (verdict.moved && agent.record !== undefined) {
    deps.onMoved({ uid: agent.uid, from: agent.record.credential, to: connection.credential.name });
    agent.record.credential = connection.credential.name;
    deps.fold.changed(agent, { identity: true });
  }
  return { agent, attached: attach(connection, agent, deps) };
}

function remember(uid: string, rivalry: Rivalry | undefined, { rivals, now }: State): void {
  if (rivalry === undefined) return;
  if (rivals.size >= MAX_RIVALS) rivals.clear();
  rivals.set(uid, { ...rivalry, untilMs: now().getTime() + RIVALRY_MS });
}

/** Gives the sender another UID. Nothing that it said is kept: it will say everything again under the new one. */
function rename(connection: Connection, { instanceUid, flags }: AgentToServer, because: string, deps: State): void {
  const first = connection.assignedUid === undefined;
  connection.assignedUid ??= deps.newUid();
  connection.refusedUid = instanceUid;
  const capabilities = connection.greeted ? 0n : deps.capabilities;
  connection.greeted = true;
  const agentIdentification = { newInstanceUid: connection.assignedUid };
  connection.send({ instanceUid, flags: 0n, capabilities, agentIdentification });
  if (!first) return;
  const asked = hasBit(flags, AGENT_FLAG.requestInstanceUid);
  const { name: credential } = connection.credential;
  deps.onRenamed({ uid: instanceUid, newUid: connection.assignedUid, credential, because, asked });
}

/** The one that came later goes on under another UID, over the connection that it has. */
function renameHolder(holder: Connection, agent: Agent, because: string, deps: State): void {
  holder.agent = undefined;
  agent.connection = undefined;
  rename(holder, { instanceUid: agent.uid, flags: 0n, sequenceNum: 0n, capabilities: 0n }, because, deps);
}

/** From here on this connection is the agent's. True when it was not before. */
function attach(connection: Connection, agent: Agent, deps: State): boolean {
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
  connection.refusedUid = undefined;
  if (agent.heldBy !== undefined) deps.onTakenOver(agent.uid);
  agent.heldBy = undefined;
  deps.fold.happened({ uid: agent.uid, at: deps.now(), event: "connected", detail: connection.address });
  return true;
}

function detach(connection: Connection, agent: Agent, detail: string, deps: State): void {
  connection.agent = undefined;
  if (agent.connection !== connection) return;
  agent.connection = undefined;
  if (agent.record === undefined) return deps.registry.forget(agent);
  agent.record.connected = false;
  deps.fold.changed(agent);
  deps.fold.happened({ uid: agent.uid, at: deps.now(), event: "disconnected", detail });
}

/** Its connection ends, nothing of what is known here is written any more, and it is read again when it comes back. */
function leave(agent: Agent, code: number, reason: string, deps: State): void {
  const { connection } = agent;
  agent.connection = undefined;
  deps.fold.drop(agent);
  deps.registry.forget(agent);
  if (connection === undefined) return;
  connection.agent = undefined;
  connection.close(code, reason);
}
