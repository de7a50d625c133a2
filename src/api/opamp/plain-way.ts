/**
 * The short way of a message that says nothing new: a heartbeat, or the very health report that the agent sent last, or
 * one that differs from it in the times of its statuses only. The answer is the shortest there is.
 */
import { isSameButTimes } from "../../protocol/health-bytes.ts";
import { scanAgentToServer } from "../../protocol/scan.ts";
import { uidToBytes } from "../../protocol/uid.ts";
import type { AgentRecord } from "../../store/agents.ts";
import type { Connection } from "./connection.ts";
import type { Fold } from "./fold.ts";

/** The answer that only echoes the UID. */
export const plainReply = (uid: string): Buffer => Buffer.concat([Buffer.of(0, 0x0a, 16), uidToBytes(uid)]);

/** True when the message was handled and answered here. */
export function plainWay(connection: Connection, data: Buffer, deps: { fold: Fold; now: () => Date }): boolean {
  const { agent } = connection;
  const record = agent?.record;
  if (agent?.connection !== connection || record === undefined || !record.connected) return false;
  if (!connection.greeted || agent.askedFull || agent.lastSequence === undefined) return false;
  const scan = scanAgentToServer(data);
  if (scan === undefined || !scan.plain || scan.uidAt < 0) return false;
  if (agent.uidBytes.compare(data, scan.uidAt, scan.uidAt + 16) !== 0) return false;
  if (scan.sequenceNum === undefined || BigInt(scan.sequenceNum) !== agent.lastSequence + 1n) return false;
  if (scan.capabilities === undefined || BigInt(scan.capabilities) !== record.capabilities) return false;
  const health = scan.healthAt < 0 ? "same" : compareHealth(record, data, scan.healthAt, scan.healthEnd);
  if (health === "other") return false;
  agent.lastSequence += 1n;
  record.sequenceNum = agent.lastSequence;
  record.lastSeenAt = deps.now();
  if (health === "times") data.copy(record.health ?? data, 0, scan.healthAt, scan.healthEnd);
  deps.fold.heard(agent, { health: health === "times" });
  connection.acknowledge(agent.uid);
  return true;
}

/** Of an update the times count, too: then only equal bytes say nothing new. */
function compareHealth(
  { health, updateAttempt }: AgentRecord,
  data: Buffer,
  at: number,
  end: number,
): "same" | "times" | "other" {
  if (health === null) return "other";
  if (health.compare(data, at, end) === 0) return "same";
  return updateAttempt === null && isSameButTimes(health, data.subarray(at, end)) ? "times" : "other";
}
