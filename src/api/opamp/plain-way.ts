/**
 * The short way of a message that says nothing new: a heartbeat, or the very health report that the agent sent last.
 * Only time and sequence number change, and the answer is the shortest there is.
 */
import { scanAgentToServer } from "../../protocol/scan.ts";
import { uidToBytes } from "../../protocol/uid.ts";
import type { Connection } from "./connection.ts";
import type { Fold } from "./fold.ts";
import type { Agent } from "./registry.ts";

const known = new WeakMap<Agent, { uid: Buffer; reply: Buffer }>();

/** The answer that only echoes the UID. */
export const plainReply = (uid: string): Buffer => Buffer.concat([Buffer.of(0, 0x0a, 16), uidToBytes(uid)]);

function bytesOf(agent: Agent): { uid: Buffer; reply: Buffer } {
  const found = known.get(agent);
  if (found !== undefined) return found;
  const reply = plainReply(agent.uid);
  const made = { reply, uid: reply.subarray(3) };
  known.set(agent, made);
  return made;
}

/** True when the message was handled and answered here. */
export function plainWay(connection: Connection, data: Buffer, deps: { fold: Fold; now: () => Date }): boolean {
  const { agent } = connection;
  const record = agent?.record;
  if (agent?.connection !== connection || record === undefined || !record.connected) return false;
  if (!connection.greeted || agent.askedFull || agent.lastSequence === undefined) return false;
  const scan = scanAgentToServer(data);
  if (scan === undefined || !scan.plain || scan.uidAt < 0) return false;
  const { uid, reply } = bytesOf(agent);
  if (uid.compare(data, scan.uidAt, scan.uidAt + 16) !== 0) return false;
  if (scan.sequenceNum === undefined || BigInt(scan.sequenceNum) !== agent.lastSequence + 1n) return false;
  if (scan.capabilities === undefined || BigInt(scan.capabilities) !== record.capabilities) return false;
  if (scan.healthAt >= 0 && record.health?.compare(data, scan.healthAt, scan.healthEnd) !== 0) return false;
  agent.lastSequence += 1n;
  record.sequenceNum = agent.lastSequence;
  record.lastSeenAt = deps.now();
  deps.fold.heard(agent);
  connection.sendFrame(reply);
  return true;
}
