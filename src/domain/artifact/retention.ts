/**
 * How long a release stays (design/artifacts, "Replication": retention). While anybody needs it, and `keepFor` after the
 * last need; then it may go, the longest unneeded first, a few at a time. Pure: facts and the clock in, decisions out.
 */

/** Who needs it, as `store/release-users` names them. */
export type Need = { kind: string; what: string };
export type ReleaseFacts = {
  distribution: string;
  version: string;
  /** Everybody who needs it now. */
  users: readonly Need[];
  /** The first look that found nobody; null: somebody was there at the last look, or there was none. */
  unneededSince: Date | null;
  /** When it last came in, or an offer of it ended: needs that no look may have seen. */
  touchedAt: Date | null;
};
export type Retention =
  | { do: "keep"; because: readonly Need[] }
  /** Nobody needs it since then; it stays until `until`. */
  | { do: "wait"; since: Date; until: Date }
  | { do: "delete"; since: Date };

/** What is to become of one release now. A clock that was set back never makes it older than it is. */
export function retain({ users, unneededSince, touchedAt }: ReleaseFacts, now: Date, keepForMs: number): Retention {
  if (users.length > 0) return { do: "keep", because: users };
  // never seen unneeded before: that begins now, however long nobody looked
  const since = new Date(Math.max((unneededSince ?? now).getTime(), touchedAt?.getTime() ?? 0));
  const until = new Date(since.getTime() + keepForMs);
  return now.getTime() >= until.getTime() ? { do: "delete", since } : { do: "wait", since, until };
}

/** Those that go now: the longest unneeded first, at most `atOnce` (depot-anchors 1.4: never a landslide). */
export function chooseExpired<F extends ReleaseFacts>(
  facts: readonly F[],
  now: Date,
  { keepForMs, atOnce }: { keepForMs: number; atOnce: number },
): { chosen: F[]; more: boolean } {
  const expired = facts
    .flatMap((it) => {
      const decision = retain(it, now, keepForMs);
      return decision.do === "delete" ? [{ it, since: decision.since.getTime() }] : [];
    })
    .toSorted((a, b) => a.since - b.since || (nameOf(a.it) < nameOf(b.it) ? -1 : 1));
  return { chosen: expired.slice(0, atOnce).map(({ it }) => it), more: expired.length > atOnce };
}

const nameOf = ({ distribution, version }: ReleaseFacts): string => `${distribution} ${version}`;

/** One sentence about a decision, for people. `day` writes a moment. */
export function retentionText(decision: Retention, day: (at: Date) => string): string {
  switch (decision.do) {
    case "keep":
      return `stays: ${decision.because.map(needText).join("; ")}`;
    case "wait":
      return `nobody needs it since ${day(decision.since)}; it stays until ${day(decision.until)}`;
    case "delete":
      return `nobody needs it since ${day(decision.since)}; the next run removes it`;
  }
}

const NEED_TEXT: Readonly<Record<string, string>> = {
  snapshot: "Git names it for",
  fleet: "last proven version of",
  rollout: "needed by rollout",
  offer: "on offer to",
  wanted: "wanted by",
  installed: "runs on",
  before: "way back of",
  pin: "pinned by",
};
const needText = ({ kind, what }: Need): string => `${NEED_TEXT[kind] ?? kind} ${what}`;
