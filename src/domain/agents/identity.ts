/**
 * Conversation rules of one agent: when the server must ask for everything, and who owns an instance UID
 * (OpAMP: sequence numbers and duplicates; decisions, "Server": a UID belongs to the credential that registered it).
 */
/**
 * Whether to ask for full state. `last`: highest sequence number known of this agent; undefined: nothing is known of it.
 * The first message of a process is 0 with everything in it; each next one is one more, also over a new connection.
 */
export function needsFullState(last: bigint | undefined, got: bigint, hasDescription: boolean): boolean {
  if (got === 0n && hasDescription) return false;
  return last === undefined || got !== last + 1n;
}

export type Claim = { credential: string; hostName: string | undefined };
export type Owner = { credential: string; hostName: string; connectedElsewhere: boolean };
export type Ownership = { do: "accept" } | { do: "take_over" } | { do: "rename"; because: string };

/**
 * Who may speak under a UID. Another credential never takes it. With a second live connection, another host is a clone
 * and gets a new UID; the same host is a reconnect (or one supervisor with two sockets): the older connection goes.
 */
export function judgeOwnership(owner: Owner | undefined, claim: Claim): Ownership {
  if (owner === undefined) return { do: "accept" };
  if (owner.credential !== claim.credential)
    return { do: "rename", because: "the instance UID belongs to another credential" };
  if (!owner.connectedElsewhere) return { do: "accept" };
  const otherHost =
    claim.hostName !== undefined &&
    claim.hostName !== "" &&
    owner.hostName !== "" &&
    claim.hostName.toLowerCase() !== owner.hostName.toLowerCase();
  return otherHost ? { do: "rename", because: "the instance UID is in use on another host" } : { do: "take_over" };
}
