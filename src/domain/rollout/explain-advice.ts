/**
 * Why an attempt ended as it did, and what to do: one entry per class of failure and per code. Total, so that a new class
 * or code does not compile before somebody has said what an operator does about it.
 */
import type { FailureClass } from "../brand.ts";
import type { ErrorCode } from "../errors.ts";
import type { Explained } from "./explain-situation.ts";
import type { LeaveCode } from "./plan-target.ts";

/** What a person does about a failure of this class. */
export const TO_DO: Record<FailureClass, string> = {
  download: "find out why the host cannot read the archive from its download base (network, proxy, depots), then retry",
  verification: "do not force it: compare the artifact's digest and signer with the updater's log on the host",
  policy_refused:
    "the host's own policy decides: change it in the updater's configuration there, or choose another version",
  preflight:
    "read the updater's log on the host: the new binary did not run there, or it refuses the host's configuration",
  disk_full: "free space where the updater keeps its versions and state, then retry",
  install: "read the updater's log on the host, then retry",
  health: "read the collector's log on the host; roll back, or mend it with the next change",
  rollback_failed:
    "go to this host first, its collector may not run: `myriarch-updater status` there says where it stopped",
  timeout: "see that the host, its supervisor and its updater run and are connected, then retry",
  no_data: "the collector fell silent: see that the host is up and reaches the server, then retry",
  executor: "see what the executor says of its job, then retry",
  withdrawn: "nothing: it was taken back before the host stopped its supervisor; retry offers it again",
  configuration: "read the error: the collector refused the configuration; mend the object in Git",
  incompatible: "take the components out of the configuration in Git, or choose a build that has them",
  regressed: "read the collector's log on the host; roll back, or mend it with the next change",
};

/** Why a target takes no part, or takes none any more. */
export const TARGET_CODES = [
  "moved",
  "deleted",
  "aborted",
  "superseded",
  "rolled_back",
  "withdrawn",
  "offline",
  "tried_before",
  "refused_before",
  "catch_up_aborted",
  "held",
  "updater_missing",
  "updater_mismatch",
  "wrong_distribution",
  "unsupported_platform",
  "capability_off",
  "incompatible",
  "artifact_incomplete",
  "no_way_back",
  "downgrade_not_allowed",
  "render_failed",
] as const satisfies readonly (
  | ErrorCode
  | LeaveCode
  | "moved"
  | "deleted"
  | "aborted"
  | "rolled_back"
  | "withdrawn"
  | "offline"
)[];
export type TargetCode = (typeof TARGET_CODES)[number];
export const isTargetCode = (code: string | null): code is TargetCode =>
  (TARGET_CODES as readonly (string | null)[]).includes(code);

type CodeText = {
  /** Used when the row has no text of its own. */
  says: string;
  /** What happens by itself afterwards; null: nothing. */
  next: string | null;
  waitsFor: Explained["waitsFor"];
  /** Null: nothing is needed. */
  todo: string | null;
};
/** What somebody does about a host that is offline. */
export const BRING_BACK = "bring the host back: see that it is up and reaches the server";
const MENDED = "catch-up brings it there when that is mended";

const CODE_TEXTS: Record<TargetCode, CodeText> = {
  moved: {
    says: "the host belongs to another fleet now",
    next: "its new fleet brings it where it should be",
    waitsFor: "server",
    todo: null,
  },
  deleted: {
    says: "the agent is gone",
    next: null,
    waitsFor: "nobody",
    todo: "nothing; if the host comes back it is a new agent",
  },
  aborted: {
    says: "the rollout was aborted before this host began",
    next: null,
    waitsFor: "person",
    todo: "retry the rollout, or commit another change",
  },
  superseded: {
    says: "a newer change took its place before this host began",
    next: "the newer rollout brings it there",
    waitsFor: "server",
    todo: null,
  },
  rolled_back: {
    says: "the rollout was rolled back before this host began",
    next: null,
    waitsFor: "person",
    todo: "retry the rollout, or commit another change",
  },
  withdrawn: {
    says: "the offer was taken back before the host stopped its supervisor",
    next: null,
    waitsFor: "person",
    todo: "retry offers it again",
  },
  offline: {
    says: "the host was offline when its turn came",
    next: "catch-up brings it there when it is back",
    waitsFor: "host",
    todo: "bring the host back",
  },
  tried_before: {
    says: "its last attempt towards this state failed",
    next: null,
    waitsFor: "person",
    todo: "retry its rollout, or commit another change",
  },
  refused_before: {
    says: "its catch-up could not be offered, and nothing has changed since",
    next: "it is asked again ten minutes after the refusal",
    waitsFor: "server",
    todo: "mend what its last attempt names",
  },
  catch_up_aborted: {
    says: "its catch-up was aborted by a person",
    next: null,
    waitsFor: "person",
    todo: "retry the catch-up, or commit another change",
  },
  held: {
    says: "the fleet's change is held",
    next: null,
    waitsFor: "person",
    todo: "retry the held rollout, or commit another change",
  },
  updater_missing: {
    says: "no updater is linked to this collector",
    next: MENDED,
    waitsFor: "host",
    todo: "install myriarch-updater on the host and enroll it with the collector's credential",
  },
  updater_mismatch: {
    says: "the updater that names this collector may not be linked to it",
    next: MENDED,
    waitsFor: "host",
    todo: "enroll updater and collector of the host with the same credential and host name",
  },
  wrong_distribution: {
    says: "the host runs another distribution than the fleet wants",
    next: MENDED,
    waitsFor: "person",
    todo: "correct the fleet's distribution in Git, or move the host to a fleet of its own distribution",
  },
  unsupported_platform: {
    says: "no archive exists for the host's platform",
    next: MENDED,
    waitsFor: "person",
    todo: "leave the host out of the fleet in Git, or choose a release with its platform",
  },
  capability_off: {
    says: "the agent does not report a capability that this needs",
    next: MENDED,
    waitsFor: "host",
    todo: "switch the capability on in the agent's own configuration on the host",
  },
  incompatible: {
    says: "its collector lacks components of the configuration",
    next: MENDED,
    waitsFor: "person",
    todo: TO_DO.incompatible,
  },
  artifact_incomplete: {
    says: "the release has no usable archive for the host's platform",
    next: MENDED,
    waitsFor: "person",
    todo: "choose another version, or upload the missing archive; `myrctl artifacts list` names what failed",
  },
  no_way_back: {
    says: "the server has no signed artifact of the version before",
    next: null,
    waitsFor: "person",
    todo: "upload the release that it ran before, then roll back again; or bring it forward with the next change",
  },
  downgrade_not_allowed: {
    says: "this is a downgrade, and the fleet does not allow it",
    next: MENDED,
    waitsFor: "person",
    todo: "set `allowDowngrade` in the fleet's version in Git, if it is meant",
  },
  render_failed: {
    says: "the configuration does not render for this host",
    next: MENDED,
    waitsFor: "person",
    todo: "mend the blueprint, the fleet's parameters or the host's inventory entry in Git",
  },
};

/** With a text of its own `superseded` is of the host, which came back as another agent; without one it is of the rollout. */
const CAME_BACK: CodeText = {
  says: "the host came back as another agent",
  next: "the agent that it came back as is brought there",
  waitsFor: "server",
  todo: "explain the agent that it came back as; this one stays until it is deleted or forgotten",
};

/** `text`: what the row says. `says` is for a row without a text of its own. */
export function textOfCode(code: TargetCode, text: string): { says: string } & Omit<Explained, "what"> {
  const { next, ...rest } = code === "superseded" && text !== "" ? CAME_BACK : CODE_TEXTS[code];
  return { ...rest, next: next === null ? null : { what: next, atMs: null } };
}
