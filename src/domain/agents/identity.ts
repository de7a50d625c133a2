/**
 * Conversation rules of one agent: when the server must ask for everything, and who owns an instance UID
 * (OpAMP: sequence numbers and duplicates; decisions, "Server": a UID belongs to the credential that registered it).
 */
import { isOtherHost } from "../update/link.ts";

/**
 * Whether to ask for full state. `last`: highest sequence number known of this agent; undefined: nothing is known of it.
 * The first message of a process is 0 with everything in it; each next one is one more, also over a new connection.
 */
export function needsFullState(last: bigint | undefined, got: bigint, hasDescription: boolean): boolean {
  if (got === 0n && hasDescription) return false;
  return last === undefined || got !== last + 1n;
}

/** Somebody who speaks under a UID over a connection that is not the one that it is known by. */
export type Claim = {
  credential: string;
  /** Credentials whose agents this one may bring: it was declared their successor. */
  succeeds: readonly string[];
  hostName: string | undefined;
  sequence: bigint;
  described: boolean;
};
export type Owner = {
  credential: string;
  hostName: string;
  /** Highest sequence number known. */
  sequence: bigint | undefined;
  /** When what it manages was started, by its health report; 0: not known. */
  startTimeNanos: bigint;
  /** Whether it has a live connection, in this process or in another one. */
  held: "no" | "here" | "elsewhere";
};
/** Of the process that a newcomer displaced a short while ago, in case that it is alive and comes back. */
export type Rivalry = { sequence: bigint; startTimeNanos: bigint; returns: number };

/** `moved`: the UID goes from an old credential to its successor. `rivalry`: what to remember; undefined: forget it. */
export type Ownership =
  | { do: "take"; moved: boolean; rivalry: Rivalry | undefined }
  | { do: "park"; because: string }
  | { do: "rename" | "rename_holder"; because: string; moved: boolean };

/** Returns of a displaced process that are tolerated while nothing tells two hosts from one host with two sockets. */
const TOLERATED_RETURNS = 2;

/**
 * Who may speak under a UID. Another credential never takes it, unless it was declared a successor. The next message of
 * the same process, or a fresh start, takes over from an older connection. Two live processes with one UID show by their
 * sequence numbers, which no process ever counts back: they are a clone, and the one that came later gets a new UID. If
 * both manage the very same collector process they are one supervisor with two sockets (a fault of upstream): the older
 * one is not answered, and nobody is renamed.
 */
export function judgeOwnership(owner: Owner | undefined, claim: Claim, rivalry?: Rivalry): Ownership {
  if (owner === undefined) return { do: "take", moved: false, rivalry: undefined };
  const moved = owner.credential !== claim.credential;
  if (moved && !claim.succeeds.includes(owner.credential))
    return { do: "rename", because: "the instance UID belongs to another credential", moved };
  if (owner.held === "no") return { do: "take", moved, rivalry };
  const last = owner.sequence;
  const returned =
    rivalry !== undefined && claim.sequence > rivalry.sequence && (last === undefined || last <= rivalry.sequence);
  if (last !== undefined && claim.sequence === last + 1n && !returned) return { do: "take", moved, rivalry };
  if (isOtherHost(owner.hostName, claim.hostName ?? ""))
    return { do: "rename", because: "the instance UID is in use on another host", moved };
  const displaced = { sequence: last ?? 0n, startTimeNanos: owner.startTimeNanos, returns: rivalry?.returns ?? 0 };
  // Some clients begin to count at one.
  if (claim.described && claim.sequence <= 1n) return { do: "take", moved, rivalry: displaced };
  const backwards = last !== undefined && claim.sequence <= last;
  if (!backwards && !returned) return { do: "take", moved, rivalry };
  return judgeTwoProcesses(owner, returned, moved, displaced, rivalry);
}

function judgeTwoProcesses(
  owner: Owner,
  returned: boolean,
  moved: boolean,
  displaced: Rivalry,
  rivalry: Rivalry | undefined,
): Ownership {
  const started = rivalry?.startTimeNanos ?? 0n;
  const known = started !== 0n && owner.startTimeNanos !== 0n;
  if (known && started === owner.startTimeNanos)
    return { do: "park", because: "one supervisor with two connections: the newer one counts" };
  if (!known && displaced.returns < TOLERATED_RETURNS)
    return { do: "take", moved, rivalry: { ...displaced, returns: displaced.returns + 1 } };
  const because = "two processes use the instance UID at once";
  return { do: returned && owner.held === "here" ? "rename_holder" : "rename", because, moved };
}
