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
  unneededSinceMs: number | null;
  /** When it last came in, or an offer of it ended: needs that no look may have seen. Milliseconds, as all times here. */
  touchedAtMs: number | null;
};
export type Retention =
  | { do: "keep"; because: readonly Need[] }
  /** Nobody needs it since then; it stays until `until`. */
  | { do: "wait"; sinceMs: number; untilMs: number }
  | { do: "delete"; sinceMs: number };

/** What is to become of one release now. A clock that was set back never makes it older than it is. */
export function retain(
  { users, unneededSinceMs, touchedAtMs }: ReleaseFacts,
  nowMs: number,
  keepForMs: number,
): Retention {
  if (users.length > 0) return { do: "keep", because: users };
  // never seen unneeded before: that begins now, however long nobody looked
  const sinceMs = Math.max(unneededSinceMs ?? nowMs, touchedAtMs ?? 0);
  const untilMs = sinceMs + keepForMs;
  return nowMs >= untilMs ? { do: "delete", sinceMs } : { do: "wait", sinceMs, untilMs };
}

/** Those that go now: the longest unneeded first, at most `atOnce` (depot-anchors 1.4: never a landslide). */
export function chooseExpired<F extends ReleaseFacts>(
  facts: readonly F[],
  nowMs: number,
  { keepForMs, atOnce }: { keepForMs: number; atOnce: number },
): { chosen: F[]; more: boolean } {
  const expired = facts
    .flatMap((it) => {
      const decision = retain(it, nowMs, keepForMs);
      return decision.do === "delete" ? [{ it, sinceMs: decision.sinceMs }] : [];
    })
    .toSorted((a, b) => a.sinceMs - b.sinceMs || (nameOf(a.it) < nameOf(b.it) ? -1 : 1));
  return { chosen: expired.slice(0, atOnce).map(({ it }) => it), more: expired.length > atOnce };
}

const nameOf = ({ distribution, version }: ReleaseFacts): string => `${distribution} ${version}`;

/** One sentence about a decision, for people. `day` writes a moment. */
export function retentionText(decision: Retention, day: (ms: number) => string): string {
  switch (decision.do) {
    case "keep":
      return `stays: ${decision.because.map(needText).join("; ")}`;
    case "wait":
      return `nobody needs it since ${day(decision.sinceMs)}; it stays until ${day(decision.untilMs)}`;
    case "delete":
      return `nobody needs it since ${day(decision.sinceMs)}; the next run removes it`;
    default:
      return decision satisfies never;
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
