/** How an attempt ended, why, and what moves the host next. */
import { isTargetCode, textOfCode, TO_DO } from "./explain-advice.ts";
import { goalText, wantedVersion, type Explained, type Situation } from "./explain-situation.ts";
import { lengthText } from "./explain-time.ts";
import { isFinalState } from "./phases.ts";

/** Total over the final phases: whoever is asked about an open one gets the sentence of its end as it would be. */
export function describeEnd(at: Situation): Explained {
  const { phase } = at.attempt;
  if (phase === "succeeded") return describeSuccess(at);
  if (phase === "cancelled") return describeCancelled(at);
  return describeFailure(at);
}

function describeSuccess(at: Situation): Explained {
  const { attempt, rollout, host } = at;
  if (attempt.failureClass === "regressed")
    return {
      what: `it reached ${goalText(at)} and became unhealthy while its wave baked: it counts as a failure and keeps what it has`,
      next: null,
      waitsFor: "person",
      todo: TO_DO.regressed,
    };
  const reached =
    attempt.direction === "back" ? `it is back at ${goalText(at)}` : `the collector reports ${goalText(at)}`;
  const now = host === null ? "; its agent is gone now" : drifted(at);
  return {
    what: `${reached} and stayed healthy for ${lengthText(rollout.healthWaitMs)}${now}`,
    next: null,
    waitsFor: "nobody",
    todo: null,
  };
}

/** A success says what was; the version that it runs now is what is. */
function drifted(at: Situation): string {
  const { host } = at;
  const reached = wantedVersion(at);
  if (host === null || reached === null || host.version === reached) return "";
  return `; it reports ${host.version || "no version"} now`;
}

function describeFailure(at: Situation): Explained {
  const { attempt, target } = at;
  const cause = textOf(at);
  const stays = attempt.direction === "back" ? "is not back" : "keeps what it runs now";
  const what =
    attempt.phase === "rolled_back"
      ? `it failed and is back at ${(target.toVersion !== null && target.fromVersion) || "the configuration before"}: ${cause}`
      : attempt.failureClass === "rollback_failed"
        ? `it failed, and so did its way back: ${cause}`
        : `it failed, and ${stays}: ${cause}`;
  const { code, failureClass, error } = attempt;
  if (!isTargetCode(code) || failureClass !== null) return { what, next: null, waitsFor: "person", todo: todoOf(at) };
  const { next, waitsFor, todo } = textOfCode(code, error);
  return { what, next, waitsFor, todo };
}

/** A text of a host begins with its class already. */
function textOf({ attempt: { error, failureClass, code } }: Situation): string {
  if (error === "")
    return failureClass ?? (isTargetCode(code) ? textOfCode(code, error).says : (code ?? "no cause was recorded"));
  return failureClass === null || error.includes(`${failureClass}:`) ? error : `${failureClass}: ${error}`;
}

const todoOf = ({ attempt: { failureClass }, rollout }: Situation): string =>
  failureClass === null
    ? `read the host's and the server's logs, then retry ${rollout.fleet}/${rollout.n}`
    : TO_DO[failureClass];

function describeCancelled(at: Situation): Explained {
  const { attempt, rollout } = at;
  const { code, failureClass, error } = attempt;
  if (isTargetCode(code)) {
    const { says, next, waitsFor, todo } = textOfCode(code, error);
    const what = error === "" ? says : error;
    return { what: `it takes no part: ${what} (${code})`, next, waitsFor, todo };
  }
  if (failureClass !== null)
    return { what: `it was taken back: ${textOf(at)}`, next: null, waitsFor: "person", todo: TO_DO[failureClass] };
  const why =
    error ||
    code ||
    (isFinalState(rollout.state) ? `the rollout has ended (${rollout.state})` : "no cause was recorded");
  const named = code === null ? "" : `; docs/errors.md explains ${code}`;
  return {
    what: `it takes no part any more: ${why}`,
    next: null,
    waitsFor: "person",
    todo: `retry the rollout, or commit another change${named}`,
  };
}
