/**
 * The repository's loop: fetch, validate the whole revision, apply it or keep what is in force, wake the planner. One
 * workflow for the whole installation; a webhook pokes it, otherwise it polls (contract, "How a revision is read and
 * applied").
 */
import {
  ActivityFailure,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from "@temporalio/workflow";
import { defineSearchAttributeKey } from "@temporalio/common";
import type { Applied, Fetched, GitopsActivities, Judgement } from "../activities/gitops.ts";
import { poke, progress, QUEUES, WORKFLOW_IDS } from "./messages.ts";

export type GitSyncInput = {
  pollIntervalMs: number;
  /** Set by continue-as-new: a poke that came while the last run ended. */
  poked?: boolean;
  /** After how many polls the history begins anew. */
  pollsPerRun?: number;
  /** Set by continue-as-new: the first round does not judge a refused head once more. */
  continued?: boolean;
};
export type SyncOutcome =
  | { state: "unchanged"; commit: string }
  | { state: "rejected"; commit: string; errors: number; first: string | null }
  | { state: "overtaken"; commit: string; because: string | null }
  | { state: "applied"; commit: string; change: Pick<Applied, "added" | "changed" | "removed"> }
  | { state: "failed"; message: string };

/** About eleven events per poll. */
const POLLS_PER_RUN = 200;

const git = proxyActivities<GitopsActivities>({
  taskQueue: QUEUES.io,
  startToCloseTimeout: "10m",
  heartbeatTimeout: "20s",
  // what concerns the repository is not retryable and waits for the next poll; what is retried is our database
  retry: { maximumInterval: "10s" },
});

export async function gitSync(input: GitSyncInput): Promise<void> {
  let isPoked = input.poked ?? false;
  let { pollIntervalMs } = input;
  let last: SyncOutcome | undefined;
  setHandler(poke, () => void (isPoked = true));
  setHandler(progress, () => ({ last, isPoked }));
  const most = input.pollsPerRun ?? POLLS_PER_RUN;
  for (let polls = 0; polls < most && !workflowInfo().continueAsNewSuggested; polls += 1) {
    const isForced = isPoked || (polls === 0 && input.continued !== true);
    isPoked = false;
    const outcome = await syncOnce(isForced, (revision) => {
      pollIntervalMs = revision.pollIntervalMs ?? pollIntervalMs;
    }).catch(keepWhatIsInForce);
    show(outcome, last);
    last = outcome;
    await condition(() => isPoked, pollIntervalMs);
  }
  await continueAsNew<typeof gitSync>({ ...input, pollIntervalMs, poked: isPoked, continued: true });
}

/** What happens when somebody pushes a commit, top to bottom. */
async function syncOnce(again: boolean, onFetched: (revision: Fetched) => void): Promise<SyncOutcome> {
  const revision = await fetchRevision(again);
  onFetched(revision);
  if (revision.unchanged) return { state: "unchanged", commit: revision.commit };
  const judgement = await validateRevision(revision);
  if (!judgement.valid) return rejected(revision, judgement);
  const change = await applyRevision(revision);
  if (!change.applied) return { state: "overtaken", commit: revision.commit, because: change.because };
  await wakePlanner(revision);
  return { state: "applied", commit: revision.commit, change };
}

const short = ({ commit }: { commit: string }): string => commit.slice(0, 12);

const fetchRevision = (again: boolean): Promise<Fetched> =>
  git.fetchRevision.executeWithOptions({ summary: "fetch the branch's head" }, [{ again }]);

const validateRevision = (revision: Fetched): Promise<Judgement> =>
  git.validateRevision.executeWithOptions({ summary: `validate ${short(revision)}` }, [revision]);

const applyRevision = (revision: Fetched): Promise<Applied> =>
  git.applyRevision.executeWithOptions({ summary: `apply ${short(revision)}: ${revision.subject.slice(0, 80)}` }, [
    revision,
  ]);

const rejected = ({ commit }: Fetched, { errors, first }: Judgement): SyncOutcome => ({
  state: "rejected",
  commit,
  errors,
  first,
});

/** The planner sees the new generation by itself within its watchdog; the signal only makes it sooner. */
async function wakePlanner({ commit }: Fetched): Promise<void> {
  try {
    await getExternalWorkflowHandle(WORKFLOW_IDS.reconcile).signal(poke, { cause: `snapshot ${commit}` });
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.warn("the planner does not run yet", { commit });
  }
}

async function keepWhatIsInForce(error: unknown): Promise<SyncOutcome> {
  if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
  const message = error.cause?.message ?? error.message;
  await git.recordSyncFailure.executeWithOptions({ summary: "record why" }, [{ message }]);
  return { state: "failed", message };
}

const STATE = defineSearchAttributeKey("MyriarchState", "KEYWORD");
const COMMIT = defineSearchAttributeKey("MyriarchCommit", "KEYWORD");

/** Details at every poll, attributes only when they change: each upsert is an event. */
function show(outcome: SyncOutcome, before: SyncOutcome | undefined): void {
  setCurrentDetails(detailsOf(outcome));
  if (before?.state !== outcome.state) upsertSearchAttributes([{ key: STATE, value: outcome.state }]);
  if (outcome.state === "applied") upsertSearchAttributes([{ key: COMMIT, value: outcome.commit }]);
}

function detailsOf(outcome: SyncOutcome): string {
  switch (outcome.state) {
    case "unchanged":
      return `Nothing new: the head is \`${short(outcome)}\`.`;
    case "rejected":
      return `**Refused** \`${short(outcome)}\`: ${outcome.errors} errors, first \`${outcome.first}\`. The snapshot before stays in force.`;
    case "overtaken":
      return `\`${short(outcome)}\` was not applied: ${outcome.because}.`;
    case "applied":
      return `Applied \`${short(outcome)}\`: ${outcome.change.added} objects added, ${outcome.change.changed} changed, ${outcome.change.removed} removed.`;
    case "failed":
    default:
      return `**The repository could not be read**: ${outcome.message}. The snapshot before stays in force; the next poll tries again.`;
  }
}
