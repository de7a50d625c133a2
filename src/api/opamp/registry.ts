/**
 * The agents that this process knows at the moment: those with a connection here, and those whose last words are not
 * written yet. Whoever connects is read from the database first, several at a time, so that an agent that goes on where
 * it was (after a restart of ours, or on another replica) need not report everything again.
 */
import { uidToBytes } from "../../protocol/uid.ts";
import { loadAgents, type AgentRecord } from "../../store/agents.ts";
import type { Pool } from "../../store/database.ts";
import type { Connection } from "./connection.ts";

export type Agent = {
  uid: string;
  /** The same, as messages carry it. */
  uidBytes: Buffer;
  /** Undefined until it has a row or has described itself. */
  record: AgentRecord | undefined;
  /** A row of it was read or written. */
  hasRow: boolean;
  connection: Connection | undefined;
  /** Highest sequence number known; undefined: nothing is known of it. */
  lastSequence: bigint | undefined;
  /** Full state was asked for over this connection, and has not come yet. */
  askedFull: boolean;
  /** By its row, the other process that holds its connection. */
  heldBy: string | undefined;
  /** Another process speaks for it, or it was deleted: nothing of this picture is written any more. */
  gone: boolean;
  /** Its time and sequence number are newer than its row. */
  beats: boolean;
};

export type Registry = {
  get(uid: string): Agent | undefined;
  /** Reads the agent's row, if it has one. The same UID gives the same agent until it is forgotten. */
  load(uid: string): Promise<Agent>;
  forget(agent: Agent): void;
  all(): Iterable<Agent>;
};

const BATCH = 500;

/** `replica` names this process in rows. */
export function createRegistry(pool: Pool, replica: string): Registry {
  const agents = new Map<string, Agent>();
  const asked = new Map<string, Promise<Agent>>();
  let batch: { uids: string[]; rows: Promise<Map<string, AgentRecord>> } | undefined;

  /** All that are asked for in one turn of the event loop are one query. */
  const rowOf = async (uid: string): Promise<AgentRecord | undefined> => {
    if (batch === undefined || batch.uids.length >= BATCH) {
      const uids: string[] = [];
      const rows = new Promise((resolve) => {
        setImmediate(resolve);
      }).then(() => {
        if (batch?.uids === uids) batch = undefined;
        return loadAgents(pool, uids);
      });
      batch = { uids, rows };
    }
    batch.uids.push(uid);
    return (await batch.rows).get(uid);
  };
  const read = async (uid: string): Promise<Agent> => {
    const record = await rowOf(uid);
    const agent: Agent = {
      uid,
      uidBytes: Buffer.from(uidToBytes(uid)),
      record,
      hasRow: record !== undefined,
      connection: undefined,
      lastSequence: record?.sequenceNum,
      askedFull: false,
      heldBy: holderOf(record, replica),
      gone: false,
      beats: false,
    };
    agents.set(uid, agent);
    return agent;
  };
  return {
    get: (uid) => agents.get(uid),
    load(uid) {
      const known = agents.get(uid);
      if (known !== undefined) return Promise.resolve(known);
      const pending = asked.get(uid) ?? read(uid).finally(() => asked.delete(uid));
      asked.set(uid, pending);
      return pending;
    },
    forget(agent) {
      if (agents.get(agent.uid) === agent) agents.delete(agent.uid);
    },
    all: () => agents.values(),
  };
}

const holderOf = (record: AgentRecord | undefined, replica: string): string | undefined =>
  record?.connected === true && record.replica !== replica ? (record.replica ?? undefined) : undefined;
