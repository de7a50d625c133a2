/**
 * Requests of agents that poll, as conversations: those of one agent one after the other, each with the connection that
 * its earlier ones had. A request that cannot be the next one of that conversation (a new process, a clone) gets a
 * connection of its own, and the rules of identity judge it like a second socket.
 */
import type { AgentToServer, ServerToAgent } from "../../protocol/messages.ts";
import type { Admission, Refusal } from "./admission.ts";
import type { Connection } from "./connection.ts";
import type { Credential } from "./credentials.ts";
import type { Delivery } from "./deliver-offers.ts";
import { HttpConnection } from "./http-connection.ts";
import type { Receive } from "./receive.ts";
import type { Registry } from "./registry.ts";

export type Polls = {
  /** The answer to one message. Rejects when the agent could not be read from the database. */
  converse: (
    credential: Credential,
    address: string,
    message: AgentToServer,
    data: Buffer,
  ) => Promise<ServerToAgent | Refusal>;
};
type Deps = {
  admission: Admission;
  registry: Registry;
  receive: Receive;
  delivery: Pick<Delivery, "wake">;
  /** All connections, whatever carries them. */
  connections: Set<Connection>;
};

/** Requests of one agent that wait for each other: a client has one in flight, and repeats it when it lost patience. */
const MAX_WAITING = 4;
/** How long an answer waits for what is open for the agent; after that it comes with the next one. */
const OFFER_MS = 2_000;

export function createPolls(deps: Deps): Polls {
  const queues = new Map<string, { last: Promise<unknown>; waiting: number }>();
  return {
    async converse(credential, address, message, data) {
      const queue = queues.get(message.instanceUid) ?? { last: Promise.resolve(), waiting: 0 };
      if (queue.waiting >= MAX_WAITING) return { status: 429, code: "rate_limited", retryAfterS: MAX_WAITING };
      queues.set(message.instanceUid, queue);
      queue.waiting++;
      const turn = queue.last.then(() => answer(credential, address, message, data, deps));
      queue.last = turn.catch(() => undefined);
      try {
        return await turn;
      } finally {
        if (--queue.waiting === 0) queues.delete(message.instanceUid);
      }
    },
  };
}

async function answer(
  credential: Credential,
  address: string,
  message: AgentToServer,
  data: Buffer,
  deps: Deps,
): Promise<ServerToAgent | Refusal> {
  const uid = message.instanceUid;
  const known = ongoing(credential, message, deps.registry);
  if (known === undefined) {
    const full = deps.admission.place();
    if (full !== undefined) return full;
  }
  const connection = known ?? begin(credential, address, deps);
  connection.beginAnswer();
  try {
    await deps.receive.message(connection, message, data);
    if (known === undefined || connection.due) await Promise.race([deps.delivery.wake(uid), after(OFFER_MS)]);
    return connection.take(uid);
  } finally {
    // It said goodbye, or goes on under another UID.
    if (connection.agent?.uid !== uid) connection.close(0, "the conversation ended");
  }
}

const after = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });

/** The conversation of which this message is the next one, the one after a loss, or the last one again. */
function ongoing(credential: Credential, message: AgentToServer, registry: Registry): HttpConnection | undefined {
  const agent = registry.get(message.instanceUid);
  const connection = agent?.connection;
  if (!(connection instanceof HttpConnection) || !connection.open) return undefined;
  if (connection.credential.name !== credential.name || connection.refusedUid !== undefined) return undefined;
  const isNew = message.agentDescription !== undefined && message.sequenceNum <= 1n;
  return !isNew && (agent?.lastSequence ?? 0n) <= message.sequenceNum ? connection : undefined;
}

function begin(credential: Credential, address: string, { connections, receive }: Deps): HttpConnection {
  const connection = new HttpConnection(credential, address, performance.now(), (ended, reason) => {
    connections.delete(ended);
    receive.closed(ended, reason);
  });
  connections.add(connection);
  return connection;
}
