/** Is the host of an open attempt still its fleet's (decisions, "Waves and targets")? */
import type { Phase } from "./phases.ts";

export type LeavingFacts = {
  /** The agent of the target is there. */
  isKnown: boolean;
  /** UID that its host came back as. */
  successor: string | null;
  /** Where it belongs now; null: nowhere. */
  fleet: string | null;
};
export type LeavingVerdict = {
  code: "deleted" | "superseded" | "moved";
  message: string;
  /** It is past what can be cancelled: what the host has begun it finishes, and that is recorded. */
  finishes: boolean;
};

/** Undefined: it stays a target of `fleet`. */
export function judgeLeaving(fleet: string, phase: Phase, facts: LeavingFacts): LeavingVerdict | undefined {
  if (!facts.isKnown) return { code: "deleted", message: "the agent is gone", finishes: false };
  if (facts.successor !== null)
    return { code: "superseded", message: `the host came back as ${facts.successor}`, finishes: false };
  if (facts.fleet === fleet) return undefined;
  const where = facts.fleet === null ? "no fleet" : `fleet ${facts.fleet}`;
  const finishes = phase !== "pending";
  const rest = finishes ? "; what it has begun is recorded to its end" : "";
  return { code: "moved", message: `the host belongs to ${where} now${rest}`, finishes };
}
