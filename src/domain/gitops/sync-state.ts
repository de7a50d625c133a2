/**
 * The state of the sync as a value, and what each event makes of it. Nothing is `ok` that is not applied; a refused or
 * unreadable revision keeps the snapshot before in force (contract, "How a revision is read and applied").
 */
export type SyncState = {
  state: "never" | "ok" | "error";
  /** `invalid_revision` or `sync_failed`, with the state `error` only. */
  errorCode: string | null;
  errorMessage: string | null;
  /** The head at the last fetch. */
  seenCommit: string | null;
  appliedCommit: string | null;
  /** The revision that validation refused, while it is the newest judged one. */
  rejectedCommit: string | null;
};

export type SyncEvent =
  | { kind: "fetched"; commit: string }
  | { kind: "rejected"; commit: string; errors: number }
  | { kind: "failed"; message: string }
  | { kind: "applied"; commit: string };

const OK = { state: "ok", errorCode: null, errorMessage: null, rejectedCommit: null } as const;

export function afterSync(before: SyncState, event: SyncEvent): SyncState {
  switch (event.kind) {
    case "fetched": {
      const seen = { ...before, seenCommit: event.commit };
      if (event.commit === before.appliedCommit) return { ...seen, ...OK };
      // an error of reading is over; what validation said of the same head holds
      return event.commit === before.rejectedCommit ? { ...seen, ...refused(event.commit, before.errorMessage) } : seen;
    }
    case "rejected":
      return { ...before, ...refused(event.commit, null, event.errors), rejectedCommit: event.commit };
    case "failed":
      return { ...before, state: "error", errorCode: "sync_failed", errorMessage: event.message };
    case "applied":
    default:
      return { ...before, ...OK, seenCommit: event.commit, appliedCommit: event.commit };
  }
}

const refused = (commit: string, said: string | null, errors?: number) => ({
  state: "error" as const,
  errorCode: "invalid_revision",
  errorMessage:
    said !== null && said.startsWith(REFUSED)
      ? said
      : `${REFUSED} ${commit.slice(0, 12)} has ${count(errors)}; the snapshot before stays in force`,
});
const REFUSED = "the revision";
const count = (errors: number | undefined): string =>
  errors === undefined ? "errors" : errors === 1 ? "1 error" : `${errors} errors`;

/** Does a fetched head need no validation: it is in force, or was refused already? */
export const isSettled = (before: SyncState, commit: string): boolean =>
  commit === before.appliedCommit || commit === before.rejectedCommit;
