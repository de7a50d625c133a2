/**
 * What the sync changes outside of its workflow: the clone, the verdict on a revision, the snapshot in force. Results are
 * references and counts; files and objects stay in the clone and in rows.
 */
import { activityInfo, Context } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import type { Logger } from "pino";
import { isFailure } from "../domain/errors.ts";
import { compareObjects, type Change } from "../domain/gitops/change.ts";
import type { Issue } from "../domain/gitops/issue-codes.ts";
import type { Limits, RepositoryFile } from "../domain/gitops/repository-files.ts";
import { isSettled } from "../domain/gitops/sync-state.ts";
import { applicable, isBlocking, type Verdict } from "../domain/gitops/validate.ts";
import { appendAudit } from "../store/audit.ts";
import { transaction, type Db, type Pool } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import {
  clearDelivery,
  readAppliedChange,
  readGitopsState,
  readJudged,
  readSnapshot,
  recordSync,
  saveJudged,
  saveSnapshot,
} from "../store/gitops.ts";
import { noteNotification } from "../store/notifications.ts";
import type { GitRemote } from "./git-remote.ts";

export type GitopsDeps = {
  pool: Pool;
  remote: GitRemote;
  limits: Limits;
  /** A judge with its budget (git-reader/run-validation.ts). */
  validate: (files: readonly RepositoryFile[], limits: Limits, signal?: AbortSignal) => Promise<Verdict>;
  now: () => Date;
  log: Pick<Logger, "info" | "warn">;
  /** `gitops.pollInterval`: a loop that was started with another one takes it over at its next fetch. */
  pollIntervalMs?: number;
};

/** `again` judges a refused head once more: another release of ours may accept it. */
export type FetchInput = { again: boolean };
export type Fetched = {
  commit: string;
  author: string;
  subject: string;
  /** The head needs no validation: it is in force, or was refused before. */
  unchanged: boolean;
  /** Of the snapshot in force when the head was fetched: the apply compares and sets. */
  generation: number;
  /** What the configuration says now. */
  pollIntervalMs: number | null;
};
export type RevisionRef = Pick<Fetched, "commit" | "author" | "subject" | "generation">;
export type Judgement = { valid: boolean; errors: number; warnings: number; first: string | null };
export type Applied = { applied: boolean; because: string | null; added: number; changed: number; removed: number };
export type GitopsActivities = ReturnType<typeof createGitopsActivities>;

const BEAT_MS = 4_000;
/** Names of objects in one audit row; the counts are always complete. */
const MAX_NAMED = 200;

export function createGitopsActivities(deps: GitopsDeps) {
  return {
    /** Fetches the branch's head and notes it. Fails with type `sync_failed` when that is not possible. */
    fetchRevision: (input: FetchInput): Promise<Fetched> => fetchRevision(deps, input),
    /** Judges the revision and stores verdict and issues; a revision with errors turns the state to `error`. */
    validateRevision: (revision: RevisionRef): Promise<Judgement> => validateRevision(deps, revision),
    /** Puts a valid revision in force, in one transaction, unless another one came in between. */
    applyRevision: (revision: RevisionRef): Promise<Applied> => applyRevision(deps, revision),
    /** The sync itself failed: the snapshot before stays in force, and everybody can see why. */
    recordSyncFailure: (input: { message: string }): Promise<void> => recordSyncFailure(deps, input),
  };
}

async function fetchRevision(deps: GitopsDeps, { again }: FetchInput): Promise<Fetched> {
  const { pool, remote, now, pollIntervalMs = null } = deps;
  const since = now();
  const head = await heartbeating((signal) => remote.fetchHead(signal));
  return transaction(pool, async (tx) => {
    const before = await readGitopsState(tx, true);
    await recordSync(tx, before, { kind: "fetched", commit: head.commit }, now());
    await clearDelivery(tx, since);
    const unchanged = head.commit === before.appliedCommit || (!again && isSettled(before, head.commit));
    return { ...head, unchanged, generation: before.generation, pollIntervalMs };
  });
}

async function validateRevision(deps: GitopsDeps, { commit, author, subject }: RevisionRef): Promise<Judgement> {
  const { pool, remote, limits, now, log } = deps;
  const verdict = await heartbeating(async (signal) =>
    deps.validate(await remote.readRevision(commit, limits, signal), limits, signal),
  );
  const errors = verdict.issues.filter(isBlocking);
  const objects = applicable(verdict);
  await transaction(pool, async (tx) => {
    const before = await readGitopsState(tx, true);
    await saveJudged(tx, { commit, author, subject, at: now(), issues: verdict.issues, objects });
    if (errors.length === 0) return;
    await recordSync(tx, before, { kind: "rejected", commit, errors: errors.length }, now());
    await announceRejection(tx, commit, errors, now());
  });
  log.info({ commit, errors: errors.length }, "revision judged");
  const warnings = verdict.issues.length - errors.length;
  return { valid: errors.length === 0, errors: errors.length, warnings, first: firstOf(errors) };
}

function applyRevision({ pool, now }: GitopsDeps, { commit, generation }: RevisionRef): Promise<Applied> {
  return transaction(pool, async (tx) => {
    const before = await readGitopsState(tx, true);
    // a second try after an answer that was lost
    if (before.appliedCommit === commit) return appliedOf(await readAppliedChange(tx));
    if (before.generation !== generation) return refusedApply("another revision was applied meanwhile");
    const judged = await readJudged(tx, commit);
    if (judged === undefined || judged.objects === null) return refusedApply("the revision is not judged valid");
    const { author, subject, objects } = judged;
    const change = compareObjects((await readSnapshot(tx))?.objects ?? [], objects);
    const at = now();
    await saveSnapshot(tx, { commit, generation: generation + 1, author, subject, objects }, change, at);
    await recordSync(tx, before, { kind: "applied", commit }, at);
    await appendAudit(tx, auditOf(commit, before.appliedCommit, change), at);
    return appliedOf(change);
  });
}

async function recordSyncFailure({ pool, now, log }: GitopsDeps, { message }: { message: string }): Promise<void> {
  await transaction(pool, async (tx) => {
    const before = await readGitopsState(tx, true);
    await recordSync(tx, before, { kind: "failed", message }, now());
  });
  log.warn({ message }, "sync failed");
}

/** Once per commit, however often and by whomever it is judged: somebody has to act. */
async function announceRejection(tx: Db, commit: string, errors: readonly Issue[], at: Date): Promise<void> {
  const [kind, data] = ["invalid_revision", { commit, errors: errors.length, first: firstOf(errors) }] as const;
  const isNew = await noteNotification(tx, { key: `${kind}:${commit}`, kind, at, data });
  if (isNew) await appendEvent(tx, "gitops", { notify: kind, ...data });
}

const firstOf = ([first]: readonly Issue[]): string | null =>
  first === undefined ? null : `${first.file}:${first.line}: ${first.code}: ${first.message}`;

const countsOf = ({ added, changed, removed }: Change) => ({
  added: added.length,
  changed: changed.length,
  removed: removed.length,
});
const refusedApply = (because: string): Applied => ({ applied: false, because, added: 0, changed: 0, removed: 0 });
const appliedOf = (change: Change = { added: [], changed: [], removed: [] }): Applied => ({
  applied: true,
  because: null,
  ...countsOf(change),
});

function auditOf(commit: string, previous: string | null, change: Change): Parameters<typeof appendAudit>[1] {
  const named = Object.fromEntries(Object.entries(change).map(([what, names]) => [what, names.slice(0, MAX_NAMED)]));
  const detail = { commit, previous, ...named, counts: countsOf(change) };
  return { principal: "system", action: "gitops.apply", object: `commit:${commit}`, outcome: "accepted", detail };
}

/**
 * Runs `work` with heartbeats, so that a dead worker is noticed and a cancellation arrives as `signal`. What the catalogue
 * calls a failure is not tried again by Temporal: the next poll tries anew.
 */
async function heartbeating<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(activityInfo().attempt), BEAT_MS);
  try {
    return await work(context.cancellationSignal);
  } catch (error) {
    // the worker stops: somebody else does it again, and the repository is not at fault
    if (context.cancellationSignal.aborted) return await context.cancelled;
    if (!isFailure(error)) throw error;
    const { code: type, message } = error;
    throw ApplicationFailure.create({ type, message, nonRetryable: true, cause: error });
  } finally {
    clearInterval(timer);
  }
}
