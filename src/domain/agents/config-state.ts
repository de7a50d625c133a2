/**
 * Where an agent is with the configuration that it was sent. The last received hash counts, whatever its status (OpAMP
 * 2.9); FAILED(B) and then APPLIED(A) without an offer of A is the agent's own return (newer supervisors); a supervisor that
 * says nothing at all, as older ones do for equal content under a new hash, is judged by its effective configuration.
 */
export type ConfigFacts = {
  /** Hexadecimal, or null. */
  receivedHash: string | null;
  /** RemoteConfigStatuses. */
  status: number;
  error: string;
  sentHash: string | null;
  sentAtMs: number | null;
  sentBy: "offer" | "resync" | "take_back" | null;
  failedHash: string | null;
  failedError: string;
  /** The configuration of ours that its effective one holds in full; null: none, or not judged. */
  effectiveOf: string | null;
  /** Of the wanted configuration; null: not known. */
  missing: readonly string[] | null;
};
export type ConfigState =
  | { state: "none"; text: string }
  | { state: "incompatible"; text: string; missing: readonly string[] }
  | { state: "sent" | "applying" | "applied" | "failed" | "unanswered"; text: string }
  | { state: "returned"; text: string; by: "agent" | "server" };

const STATUS = { unset: 0, applied: 1, applying: 2, failed: 3 } as const;
/** A supervisor answers at once, or after its `config_apply_timeout`, 5 s unless somebody changed it. */
export const UNANSWERED_MS = 30_000;

export function configState(it: ConfigFacts, nowMs: number): ConfigState {
  const answered = it.sentHash === null || it.sentHash === it.receivedHash || it.failedHash === it.sentHash;
  if (!answered) return unansweredState(it, nowMs);
  if (it.missing !== null && it.missing.length > 0)
    return { state: "incompatible", missing: it.missing, text: incompatibleText(it.missing) };
  if (it.receivedHash === null) return { state: "none", text: "no configuration of ours" };
  if (it.status === STATUS.failed) return { state: "failed", text: it.error || "it could not apply it; see its log" };
  if (it.status === STATUS.applying) return { state: "applying", text: "it restarts its collector" };
  if (it.status !== STATUS.applied) return { state: "sent", text: "received; its status is not known" };
  return returnedState(it) ?? { state: "applied", text: "applied" };
}

export const incompatibleText = (missing: readonly string[]): string =>
  `its collector has no ${missing.slice(0, MAX_NAMED).join(", ")}${missing.length > MAX_NAMED ? " and more" : ""}`;
const MAX_NAMED = 10;

function unansweredState(it: ConfigFacts, nowMs: number): ConfigState {
  if (nowMs - (it.sentAtMs ?? nowMs) < UNANSWERED_MS) return { state: "sent", text: "sent, not answered yet" };
  if (it.effectiveOf === it.sentHash)
    return { state: "applied", text: "it never said so, but its effective configuration is the one that was sent" };
  return { state: "unanswered", text: "it was sent a configuration and reports no status of it" };
}

/** It refused one configuration and runs another one: who took it back? */
function returnedState({
  failedHash,
  failedError,
  receivedHash,
  sentHash,
  sentBy,
}: ConfigFacts): ConfigState | undefined {
  if (failedHash === null || failedHash === receivedHash) return undefined;
  const why = failedError || "it could not apply it; see its log";
  if (sentHash === failedHash)
    return { state: "returned", by: "agent", text: `it returned to the configuration before by itself: ${why}` };
  if (sentBy === "take_back")
    return { state: "returned", by: "server", text: `the configuration after this one was taken back: ${why}` };
  return undefined;
}
