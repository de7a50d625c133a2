/**
 * Notices: what a person should know and need not act on at once, until somebody acknowledges it. Nothing happens because
 * of a notice: Git decides (contract, "Git sets the frame, the UI operates within it"). A row keeps only what it is about;
 * what it says is judged from the facts of the moment, so that an old notice never says what is not so any more.
 */
import { fleetsBehind, type FleetUse } from "./artifact/discovery.ts";

export const NOTICE_KINDS = ["release_available", "release_revoked", "release_too_old"] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];
export type ReleaseSubject = { distribution: string; version: string };

export const NOTICE_STATES = ["open", "acknowledged", "superseded", "settled"] as const;
/** `superseded`: a newer notice says more. `settled`: it is not so any more. Both are over, whoever acknowledged them. */
export type NoticeState = (typeof NOTICE_STATES)[number];

/** Collectors that report a release, by fleet (null: unassigned). */
export type Runs = ReleaseSubject & { fleet: string | null; hosts: number };
export type NoticeFacts = {
  /** What Git wants of its fleets. */
  uses: readonly FleetUse[];
  runs: readonly Runs[];
  revoked: readonly (ReleaseSubject & { by: string; reason: string })[];
  /** Releases that have an archive that cannot be had: what its last fetch said; empty while it is tried again. */
  incomplete: readonly (ReleaseSubject & { message: string })[];
};
/** What a notice says now. `settled`: why it is over, or null. `fleets`: whom it concerns, with what Git gives them. */
export type NoticeView = {
  text: string;
  settled: string | null;
  fleets: FleetUse[];
  hosts: Omit<Runs, keyof ReleaseSubject>[];
};

type Judge = (subject: ReleaseSubject, facts: NoticeFacts) => NoticeView;
const isOf = (subject: ReleaseSubject) => (it: ReleaseSubject) =>
  it.distribution === subject.distribution && it.version === subject.version;
const nameOf = ({ distribution, version }: ReleaseSubject): string => `${distribution} ${version}`;

/** One rule per kind: a kind without one does not compile. */
const JUDGES: Record<NoticeKind, Judge> = {
  release_available: (subject, { uses, revoked }) => {
    const fleets = fleetsBehind(subject, uses);
    const bad = revoked.find(isOf(subject));
    const settled =
      bad !== undefined
        ? `it was revoked: ${bad.reason}`
        : fleets.length === 0
          ? `no fleet of ${subject.distribution} is older`
          : null;
    const where = fleets.length === 0 ? "" : `; ${whereFleetsAre(fleets)}`;
    return { text: `${nameOf(subject)} is out${where}`, settled, fleets, hosts: [] };
  },
  release_revoked: (subject, { uses, runs, revoked }) => {
    const bad = revoked.find(isOf(subject));
    const hosts = runs.filter(isOf(subject)).map(({ fleet, hosts: count }) => ({ fleet, hosts: count }));
    const fleets = uses.filter(isOf(subject));
    const settled = bad === undefined ? "it is allowed again" : null;
    const by = bad === undefined ? "" : ` by ${bad.by}: ${bad.reason}`;
    const wanted = fleets.length === 0 ? "" : `; Git still wants it for ${fleetNames(fleets)}`;
    return { text: `${nameOf(subject)} was revoked${by}; ${whoRunsIt(hosts)}${wanted}`, settled, fleets, hosts };
  },
  release_too_old: (subject, { uses, incomplete }) => {
    const missing = incomplete.find(isOf(subject));
    const fleets = uses.filter(isOf(subject));
    const settled =
      missing === undefined ? "it is complete now" : fleets.length === 0 ? "no fleet wants it any more" : null;
    const why = missing === undefined || missing.message === "" ? "" : `: ${missing.message}`;
    const wanted = fleets.length === 0 ? "" : `; Git wants it for ${fleetNames(fleets)}`;
    return { text: `${nameOf(subject)} cannot be installed${why}${wanted}`, settled, fleets, hosts: [] };
  },
};

/** What a notice of this kind says of its subject now. */
export const judgeNotice = (kind: NoticeKind, subject: ReleaseSubject, facts: NoticeFacts): NoticeView =>
  JUDGES[kind](subject, facts);

/** The state of a notice: what is over is over, also when somebody had acknowledged it. */
export function noticeState(
  row: { superseded: boolean; acknowledged: boolean },
  view: Pick<NoticeView, "settled">,
): NoticeState {
  if (row.superseded) return "superseded";
  if (view.settled !== null) return "settled";
  return row.acknowledged ? "acknowledged" : "open";
}

/** "fleets edge, web are at 0.161.0, fleet core is at 0.160.0". */
function whereFleetsAre(fleets: readonly FleetUse[]): string {
  const versions = Array.from(new Set(fleets.map(({ version }) => version)));
  return versions
    .map((version) => {
      const those = fleets.filter((use) => use.version === version);
      return `${fleetNames(those)} ${those.length === 1 ? "is" : "are"} at ${version}`;
    })
    .join(", ");
}

/** Fleets that a text names one by one. */
const NAMED = 5;

/** "fleet core", "fleets edge, web", "fleets a, b, c, d, e and 7 more". */
function fleetNames(fleets: readonly { fleet: string }[]): string {
  const names = fleets.map(({ fleet }) => fleet).toSorted();
  const rest = names.length - NAMED;
  const listed = names.slice(0, NAMED).join(", ");
  return `${names.length === 1 ? "fleet" : "fleets"} ${listed}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** "12 hosts run it: edge 10, unassigned 2". */
function whoRunsIt(hosts: NoticeView["hosts"]): string {
  const total = hosts.reduce((sum, it) => sum + it.hosts, 0);
  if (total === 0) return "no host runs it";
  const most = hosts.toSorted((a, b) => b.hosts - a.hosts);
  const rest = most.length - NAMED;
  const listed = most.slice(0, NAMED).map(({ fleet, hosts: count }) => `${fleet ?? "unassigned"} ${count}`);
  return `${total} ${total === 1 ? "host runs" : "hosts run"} it: ${listed.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
