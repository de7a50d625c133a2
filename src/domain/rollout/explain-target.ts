/**
 * A target in sentences: where it is and why, what happens next and when, or whom it waits for (decisions, "Waves and
 * targets": every target that is not final shows all of them). Total over phases; the situation decides inside each.
 */
import { describeEnd } from "./explain-end.ts";
import { explainPending } from "./explain-pending.ts";
import { goalText, wantedVersion, type Explained, type Situation } from "./explain-situation.ts";
import { instantText, lengthText } from "./explain-time.ts";
import { describeHolds, isHeld } from "./holds.ts";
import { isFinalState, type Phase } from "./phases.ts";

/** What this phase waits for, or why it ended so. */
export const explainTarget = (at: Situation): Explained => EXPLAIN[at.attempt.phase](at);

/** A worker looks every few seconds; a deadline that passed longer ago was seen by nobody. */
const OVERDUE_MS = 60_000;

const EXPLAIN: Record<Phase, (at: Situation) => Explained> = {
  pending: explainPending,
  offered: (at) =>
    at.attempt.part === "config"
      ? flight(
          at,
          `${goalText(at, "config")} is offered; the collector has not answered yet`,
          "the collector applies it",
        )
      : flight(
          at,
          `${goalText(at, "package")} is offered; the host's updater has not begun yet`,
          "the updater begins to download",
        ),
  downloading: (at) => flight(at, `the host downloads ${goalText(at, "package")}`, "it verifies the archive"),
  verifying: (at) =>
    flight(
      at,
      `the host verifies checksum, signature and version of ${goalText(at, "package")}`,
      "it stops the supervisor and activates it",
    ),
  installing: (at) =>
    flight(
      at,
      `the host has stopped its supervisor and activates ${goalText(at, "package")}`,
      "it starts the supervisor again",
    ),
  restarting: (at) =>
    flight(at, `the host starts its supervisor with ${goalText(at, "package")}`, "it checks the collector's health"),
  health_check: (at) =>
    flight(
      at,
      `the host checks the health of ${goalText(at, "package")}`,
      "the collector reports it here, or the host goes back by itself",
    ),
  rolling_back: explainRollingBack,
  applying: (at) => flight(at, `the collector applies ${goalText(at, "config")}`, "it reports whether that worked"),
  health_wait: explainHealthWait,
  succeeded: describeEnd,
  failed: describeEnd,
  rolled_back: describeEnd,
  cancelled: describeEnd,
};

/** The host is at work: its deadline is the latest moment at which this changes. */
function flight(at: Situation, doing: string, then: string, late = "without progress it ends as a timeout"): Explained {
  const { deadlineMs } = at.attempt;
  const what = `${doing}${notesOf(at)}`;
  if (deadlineMs !== null && at.nowMs > deadlineMs + OVERDUE_MS) return overdue(what, deadlineMs);
  const next = deadlineMs === null ? then : `${then}; ${late}`;
  return { what, next: { what: next, atMs: deadlineMs }, waitsFor: "host", todo: null };
}

const overdue = (what: string, deadlineMs: number): Explained => ({
  what: `${what}; its deadline was ${instantText(deadlineMs)} and no worker has judged it`,
  next: { what: "a worker judges it as soon as one runs", atMs: null },
  waitsFor: "server",
  todo: "see that a worker runs and reaches Temporal and the database",
});

/** Whatever else an operator must know of a host in flight. */
function notesOf({ host, rollout, attempt }: Situation): string {
  const notes = [
    host === null
      ? "its agent is gone"
      : host.connected
        ? ""
        : `the collector is offline since ${instantText(host.lastSeenMs)}`,
    attempt.code === "moved" ? "the host belongs to another fleet now" : "",
    isFinalState(rollout.state)
      ? `the rollout has ended (${rollout.state}); what the host has begun is recorded to its end`
      : isHeld(rollout.holds)
        ? `the rollout is held (${describeHolds(rollout.holds)}); what the host has begun it finishes`
        : "",
  ].filter((note) => note !== "");
  return notes.length === 0 ? "" : `; ${notes.join("; ")}`;
}

/** With a class the server takes it back after a failure; without one the updater does so by itself. */
function explainRollingBack(at: Situation): Explained {
  const { attempt, target } = at;
  if (attempt.failureClass === null)
    return flight(
      at,
      `the host goes back to ${target.fromVersion ?? "what it ran before"} by itself`,
      "it reports why",
    );
  const what = attempt.part === "package" ? `version ${target.fromVersion ?? "before"}` : "the configuration before";
  const doing = `it failed (${attempt.error || attempt.failureClass}) and is taken back: ${what} is offered again`;
  return flight(at, doing, "the collector reports it and is healthy", "if not it ends as failed (rollback_failed)");
}

/** The collector's own report counts, and health without a break. */
function explainHealthWait(at: Situation): Explained {
  const { attempt, host, rollout, nowMs } = at;
  const goal = goalText(at);
  if (host === null || !host.connected) {
    const shown = `${goal} is there, and the collector is silent: the health wait stands still`;
    return flight(at, shown, "the collector reports again", "silent until then it ends as no_data");
  }
  const version = wantedVersion(at);
  if (version !== null && host.version !== version)
    return flight(
      at,
      `the host has ${version}, the collector still reports ${host.version || "no version"}`,
      `it reports ${version}`,
    );
  if (attempt.healthFromMs === null)
    return flight(
      at,
      `the collector reports ${goal} and is not healthy yet`,
      `it is healthy for ${lengthText(rollout.healthWaitMs)}`,
      "if not it ends as failed (health)",
    );
  const doneMs = attempt.healthFromMs + rollout.healthWaitMs;
  const what = `the collector reports ${goal} and is healthy since ${instantText(attempt.healthFromMs)}${notesOf(at)}`;
  if (nowMs > doneMs + OVERDUE_MS) return overdue(what, doneMs);
  return {
    what,
    next: { what: `it has succeeded when it stayed so for ${lengthText(rollout.healthWaitMs)}`, atMs: doneMs },
    waitsFor: "host",
    todo: null,
  };
}
