/** When something happens to the fleet, and to which hosts: pure. */
import { ANY_HOST } from "./fault.ts";
import { chosen, type HostProfile } from "./plan.ts";
import type { FleetEvent } from "./scenario.ts";

/** `n`: the how-manieth time of this event, from 0. */
export type Occurrence = { atMs: number; index: number; n: number; event: FleetEvent };

/** In the order of time. */
export const occurrencesOf = (events: readonly FleetEvent[]): Occurrence[] =>
  events
    .flatMap((event, index) =>
      Array.from({ length: event.times }, (_, n) => ({ atMs: event.atMs + n * (event.everyMs ?? 0), index, n, event })),
    )
    .toSorted((a, b) => a.atMs - b.atMs);

/** Names of the hosts that it happens to: exactly the event's share of its groups, another sample each time. */
export function hitBy({ event, index, n }: Occurrence, hosts: readonly HostProfile[], seed: number): Set<string> {
  const names = hosts.filter(({ group }) => event.groups?.includes(group) ?? true).map(({ name }) => name);
  return chosen(seed, names, { hosts: ANY_HOST, share: event.share }, `event ${index} ${n}`);
}
