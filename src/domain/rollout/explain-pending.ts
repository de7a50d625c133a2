/** Why an attempt has not begun: the first thing that keeps it, in the order in which the engine asks. */
import { BRING_BACK } from "./explain-advice.ts";
import { goalText, type Explained, type ExplainRollout, type Situation } from "./explain-situation.ts";
import { instantText, isoText } from "./explain-time.ts";
import { describeHolds, heldBy, type Hold, type Holds } from "./holds.ts";
import { isFinalState, type WaveState } from "./phases.ts";

type Cause = Explained | undefined;

/** Total: the last cause always holds. */
export function explainPending(at: Situation): Explained {
  return (
    ofGone(at) ??
    ofEnd(at) ??
    ofEnding(at) ??
    ofHold(at) ??
    (at.attempt.direction === "forward" ? ofWave(at) : undefined) ??
    ofOffline(at) ??
    ofBackoff(at) ??
    ofSlot(at)
  );
}

const ofGone = ({ host }: Situation): Cause =>
  host === null
    ? {
        what: "its agent is gone",
        next: { what: "the next planning ends it as deleted", atMs: null },
        waitsFor: "server",
        todo: null,
      }
    : undefined;

/** Left behind: an end that is for good closes what waits, the others leave it to catch-up. */
function ofEnd({ rollout: { state }, host }: Situation): Cause {
  if (!isFinalState(state)) return undefined;
  const away = host !== null && !host.connected;
  const what = `it had not begun when the rollout ended (${state})${away ? `; it is offline since ${instantText(host.lastSeenMs)}` : ""}`;
  if (state !== "succeeded")
    return { what, next: null, waitsFor: "person", todo: "retry the rollout, or commit another change" };
  const next = away ? "catch-up brings it there when it is back" : "catch-up brings it there";
  return { what, next: { what: next, atMs: null }, waitsFor: away ? "host" : "server", todo: away ? BRING_BACK : null };
}

function ofEnding({ rollout: { ending }, attempt: { direction } }: Situation): Cause {
  if (ending === null || direction === "back") return undefined;
  const what = {
    abort: "the rollout is being aborted",
    supersede: "a newer change waits, and this rollout opens no more offers",
    rollback: "the rollout goes back, and opens no more forward offers",
  }[ending];
  return {
    what,
    next: { what: "it is cancelled with the end of the rollout", atMs: null },
    waitsFor: "server",
    todo: null,
  };
}

/** Going back only a revoked release does not stop (rollouts, "Wanted and offered"). */
function ofHold({ rollout, attempt, ...at }: Situation): Cause {
  const holds = heldBy(rollout.holds).filter((hold) => attempt.direction === "forward" || hold !== "revoked");
  if (holds.length === 0) return undefined;
  const shown: Holds = Object.fromEntries(holds.map((hold) => [hold, rollout.holds[hold]]));
  const since = holds.map((hold) => rollout.holds[hold]?.at ?? "").toSorted()[0] ?? "";
  return {
    what: `the rollout is paused since ${isoText(since)}: ${describeHolds(shown)}${awayNote(at.host)}`,
    next: null,
    waitsFor: "person",
    todo: liftingOf(holds, rollout),
  };
}

/** What lifts these holds. */
function liftingOf(holds: readonly Hold[], { fleet, n, kind }: ExplainRollout): string {
  if (holds.includes("revoked"))
    return "choose another version in Git, or unrevoke the release; resume alone does not help";
  const controls = kind === "catch_up" ? "resume|abort" : "resume|abort|rollback";
  const reason = holds.includes("threshold") ? " --reason …" : "";
  const again = holds.includes("approval_timeout") ? "; resume asks for the approval again" : "";
  return `myrctl rollouts ${controls} ${fleet}/${n}${reason}${again}`;
}

/** Not its turn yet: preparation, an approval, a window, or the waves before. */
function ofWave(at: Situation): Cause {
  const { rollout, attempt } = at;
  if (rollout.state === "preparing") return waiting(at, rollout.reason || "the artifacts are prepared", "server");
  const own = rollout.waves.find(({ k }) => k === attempt.wave);
  if (own !== undefined && hasBegun(own.state))
    return rollout.state === "waiting_window" ? waiting(at, rollout.reason, "server") : undefined;
  if (rollout.kind === "catch_up" && rollout.state !== "waiting_window") return undefined;
  const { said, next } = turnOf(at);
  const shown = next === undefined ? at : { ...at, rollout: { ...rollout, next: { what: next, atMs: null } } };
  return waiting(shown, `its wave has not begun: ${said}`, rollout.state === "waiting_approval" ? "person" : "server");
}

/** Whose turn it is instead; `next` where the rollout's own says less. */
function turnOf({ rollout: { state, reason, waves } }: Situation): { said: string; next?: string } {
  if (state === "waiting_window") return { said: reason };
  const current = waves.find((wave) => !isOver(wave.state));
  if (current === undefined) return { said: "every wave has ended, and none took it", next: "the rollout ends" };
  const { name } = current;
  if (state === "waiting_approval") return { said: `wave ${name} waits for an approval` };
  if (state === "baking") return { said: `wave ${name} bakes before the next one starts` };
  if (!hasBegun(current.state)) return { said: `wave ${name} is about to start`, next: `wave ${name} starts` };
  return { said: `wave ${name} runs before it`, next: `wave ${name} ends` };
}

const hasBegun = (state: WaveState): boolean => state === "running" || state === "baking" || state === "ended";
const isOver = (state: WaveState): boolean => state === "ended" || state === "skipped" || state === "cancelled";

function waiting({ rollout, host }: Situation, what: string, waitsFor: "person" | "server"): Explained {
  const next = rollout.next ?? { what: "the rollout goes on", atMs: null };
  const todo = waitsFor === "person" ? `approve the wave: myrctl rollouts approve ${rollout.fleet}/${rollout.n}` : null;
  return { what: `${what}${awayNote(host)}`, next, waitsFor, todo };
}

const awayNote = (host: Situation["host"]): string =>
  host === null || host.connected ? "" : `; the host is offline too, since ${instantText(host.lastSeenMs)}`;

/** A wave that has ended left it behind: catch-up takes it after this rollout. */
function ofOffline({ host, attempt, rollout }: Situation): Cause {
  if (host === null || host.connected) return undefined;
  const own = rollout.waves.find(({ k }) => k === attempt.wave);
  const isLeft = attempt.direction === "forward" && own?.state === "ended";
  const what = `it is offline since ${instantText(host.lastSeenMs)}${isLeft ? `; wave ${own.name} ended without it` : ""}`;
  const next = isLeft
    ? "when it is back, catch-up brings it there after this rollout"
    : "it is offered when it returns";
  return { what, next: { what: next, atMs: null }, waitsFor: "host", todo: BRING_BACK };
}

/** With a text it is the host's own backoff, without one the server waits for an artifact or the updater. */
function ofBackoff({ attempt: { notBeforeMs, error }, nowMs }: Situation): Cause {
  if (notBeforeMs === null || notBeforeMs <= nowMs) return undefined;
  const what =
    error === ""
      ? "its artifact is not ready, or its updater is not connected"
      : `the host waits out its backoff: ${error}`;
  return {
    what,
    next: { what: "it is offered again", atMs: notBeforeMs },
    waitsFor: error === "" ? "server" : "host",
    todo: null,
  };
}

const ofSlot = (at: Situation): Explained => ({
  what:
    at.attempt.direction === "back"
      ? `it goes back to ${goalText(at)} when the waves after its own are back and a slot is free`
      : "its wave has begun; it waits for a free slot (the policy's maxConcurrent and spacing)",
  next: { what: "it is offered when a host before it has ended", atMs: null },
  waitsFor: "server",
  todo: null,
});
