/**
 * The reference model of the controls: what rollouts.md says, in a few lines and without any code of the engine. It sees what
 * happens (controls that were sent, waves that end, hosts that report) and says what each control must be answered.
 */
export const CONTROLS = ["pause", "resume", "abort", "approve", "retry", "rollback"] as const;
export type Control = (typeof CONTROLS)[number];
export type Expected = "apply" | "nothing" | "refuse";

export type Seen = {
  state: string;
  /** Holds that stand, by name. */
  holds: readonly string[];
  ending: string | null;
  /** A wave waits for an approval. */
  waits: boolean;
  updated: number;
  unsuccessful: number;
  /** Hosts that are on their way back. */
  returning: number;
};
const FINAL = ["succeeded", "failed", "aborted", "rolled_back", "superseded"];
export const isFinal = (state: string): boolean => FINAL.includes(state);

/** The table of the controls. */
export function expected(control: Control, at: Seen, hasReason: boolean): Expected {
  if (isFinal(at.state)) {
    if (control === "retry") return at.unsuccessful > 0 && at.returning === 0 ? "apply" : "refuse";
    if (control === "rollback") return at.state !== "rolled_back" && at.updated > 0 ? "apply" : "refuse";
    return "refuse";
  }
  const held = at.holds.length > 0;
  switch (control) {
    case "pause":
      return at.holds.includes("operator") ? "nothing" : "apply";
    case "resume":
      if (!held) return "nothing";
      return at.holds.includes("threshold") && !hasReason ? "refuse" : "apply";
    case "abort":
      return at.ending === "abort" ? "nothing" : "apply";
    case "approve":
      return at.ending === null && at.waits ? "apply" : "refuse";
    case "retry":
      if (at.ending !== null || !held) return "refuse";
      return at.unsuccessful > 0 ? "apply" : "nothing";
    case "rollback":
    default:
      if (at.ending === "rollback") return "nothing";
      return at.ending === null && at.updated > 0 ? "apply" : "refuse";
  }
}

/** What a control that was applied must have left behind, whatever happens next by itself. */
export function mustHold(control: Control, before: Seen, after: Seen): string | undefined {
  const wrong = (is: boolean, what: string): string | undefined => (is ? undefined : `${control}: ${what}`);
  switch (control) {
    case "pause":
      return wrong(after.holds.includes("operator") && !isFinal(after.state), "the hold of the operator stands");
    case "resume":
      return wrong(after.holds.length === 0, "no hold is left");
    case "abort":
      return wrong(after.state === "aborted", "it has ended as aborted");
    case "approve":
      return wrong(
        after.state !== "waiting_approval" || before.state === "waiting_approval",
        "nothing else begins to wait",
      );
    case "retry":
      return wrong(after.ending === null && !isFinal(after.state), "it runs again");
    case "rollback":
    default:
      return wrong(
        after.ending === "rollback" && ["rolling_back", "rolled_back"].includes(after.state),
        "it goes back",
      );
  }
}
