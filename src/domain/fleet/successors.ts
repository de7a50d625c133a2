/**
 * Hosts that came back as somebody else (decisions, "Waves and targets": superseded): an agent that is away, and a live one
 * of the same host name, credential and service that was first seen after it was last heard. What is planned for the old
 * UID can never be done; should it come back after all, it is a host like any other again.
 */
export type Presence = {
  uid: string;
  hostName: string;
  serviceName: string;
  credential: string;
  live?: boolean;
  firstSeenAt: Date;
  lastSeenAt: Date;
};

/** UID of the successor by UID. */
export function findSuccessors(agents: readonly Presence[]): Map<string, string> {
  const newest = new Map<string, Presence>();
  for (const agent of agents) {
    if (agent.live === false || agent.hostName === "") continue;
    const known = newest.get(nameOf(agent));
    if (known === undefined || agent.firstSeenAt > known.firstSeenAt) newest.set(nameOf(agent), agent);
  }
  const successors = new Map<string, string>();
  for (const agent of agents) {
    if (agent.live !== false || agent.hostName === "") continue;
    const next = newest.get(nameOf(agent));
    if (next !== undefined && next.firstSeenAt > agent.lastSeenAt) successors.set(agent.uid, next.uid);
  }
  return successors;
}

const nameOf = ({ hostName, serviceName, credential }: Presence): string =>
  `${hostName.toLowerCase()}\n${serviceName}\n${credential}`;
