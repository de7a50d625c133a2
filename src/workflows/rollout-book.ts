/**
 * What a rollout's workflow knows, and its controls. Rows are the truth: a message only writes them (through one activity,
 * in order of arrival, exactly once) and marks the book as stale; the loop reads again and decides.
 */
import {
  allHandlersFinished,
  ApplicationFailure,
  condition,
  currentUpdateInfo,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from "@temporalio/workflow";
import { defineSearchAttributeKey, type RetryPolicy } from "@temporalio/common";
import type { RolloutActivities } from "../activities/rollouts.ts";
import { describeNext } from "../domain/rollout/describe-next.ts";
import { isFinalState } from "../domain/rollout/phases.ts";
import {
  CONTROLS,
  controlSignals,
  controlUpdates,
  progress,
  refresh,
  supersede,
  type Control,
  type ControlAnswer,
  type ControlRequest,
} from "./messages.ts";

export type View = Awaited<ReturnType<RolloutActivities["loadRollout"]>>;
export type Book = {
  readonly fleet: string;
  readonly n: number;
  /** Null until the rows were read first. */
  view: View | null;
  /** The rows have changed since `view` was read. */
  stale: boolean;
  /** Signals of this run: continued as new before the server's limit. */
  signals: number;
};

/** Everything is tried for ever, but a row that does not exist. */
export const RETRY: RetryPolicy = { nonRetryableErrorTypes: ["not_found"], maximumInterval: "30s" };
const { applyControl, loadRollout } = proxyActivities<RolloutActivities>({
  startToCloseTimeout: "30s",
  retry: RETRY,
});

/** Opens the book and answers messages from now on. Call it before anything is awaited: signals may be waiting. */
export function openBook(fleet: string, n: number): Book {
  const book: Book = { fleet, n, view: null, stale: true, signals: 0 };
  let tail: Promise<unknown> = Promise.resolve();
  /** One control after the other, in the order in which they arrived. */
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = tail.then(work, work);
    tail = mine;
    return mine;
  };
  for (const control of CONTROLS) {
    setHandler(controlSignals[control], async (request) => {
      book.signals += 1;
      const key = `signal/${workflowInfo().runId}/${book.signals}`;
      await inOrder(() => bySignal(book, control, request ?? {}, key));
    });
    setHandler(controlUpdates[control], (request) => inOrder(() => byUpdate(book, control, request)), {
      validator: (request) => checkRequest(book, control, request),
    });
  }
  const markStale = (): void => {
    book.stale = true;
  };
  setHandler(refresh, markStale);
  setHandler(supersede, markStale);
  setHandler(progress, () => book.view);
  return book;
}

/** A raw signal cannot be answered: one that does not fit is ignored, and audited as refused by the activity. */
async function bySignal(book: Book, control: Control, request: ControlRequest, key: string): Promise<void> {
  const { wave, reason, by } = request;
  const { fleet, n } = book;
  const call = {
    fleet,
    n,
    control,
    key,
    principal: "temporal-signal",
    claimed: by,
    via: "signal",
    wave,
    reason,
  } as const;
  const { view } = await applyControl.executeWithOptions({ summary: `${control} by signal` }, [call]);
  take(book, view);
}

async function byUpdate(book: Book, control: Control, request: ControlRequest): Promise<ControlAnswer> {
  const { fleet, n } = book;
  const { by = "temporal-update", wave, reason } = request;
  const key = currentUpdateInfo()?.id ?? "";
  const call = { fleet, n, control, key, principal: by, via: "api", wave, reason } as const;
  const { applied, view } = await applyControl.executeWithOptions({ summary: `${control} by ${by}` }, [call]);
  take(book, view);
  if (applied.outcome === "refused")
    throw ApplicationFailure.create({ type: applied.code, message: applied.because, nonRetryable: true });
  const { changed, state, message } = applied;
  return { changed, state, message };
}

/**
 * Refuses what no row can make right, without an event in the history. What depends on rows is judged by the activity on
 * the locked row: this copy may be older than what the caller has seen.
 */
function checkRequest(book: Book, control: Control, request: ControlRequest): void {
  const refuse = (type: string, message: string): never => {
    throw ApplicationFailure.create({ type, message, nonRetryable: true });
  };
  for (const [name, value] of Object.entries(request ?? {}))
    if (typeof value !== "string" || value.length > 2_000) refuse("invalid_request", `${name} must be a short text`);
  const { view } = book;
  if (view === null) return;
  if (isFinalState(view.state)) refuse("control_conflict", `the rollout has ended (${view.state})`);
  if (control === "approve" && request.wave !== undefined && !view.waves.some(({ name }) => name === request.wave))
    refuse("control_conflict", `there is no wave ${request.wave}`);
}

function take(book: Book, view: View): void {
  book.view = view;
  book.stale = true;
}

/** The rollout as its rows say now, shown in the Temporal UI. */
export async function readBook(book: Book): Promise<View> {
  while (book.stale || book.view === null) {
    book.stale = false;
    book.view = await loadRollout.executeWithOptions({ summary: "read the rollout" }, [
      { fleet: book.fleet, n: book.n },
    ]);
  }
  show(book.view);
  return book.view;
}

const ATTRIBUTES = {
  fleet: defineSearchAttributeKey("MyriarchFleet", "KEYWORD"),
  rollout: defineSearchAttributeKey("MyriarchRollout", "KEYWORD"),
  state: defineSearchAttributeKey("MyriarchState", "KEYWORD"),
  version: defineSearchAttributeKey("MyriarchVersion", "KEYWORD"),
  commit: defineSearchAttributeKey("MyriarchCommit", "KEYWORD"),
};

/** Writes list filters when one changed, and the details page. Neither costs more than an event. */
export function show(view: View): void {
  const shown = workflowInfo().typedSearchAttributes;
  const pairs = [
    { key: ATTRIBUTES.fleet, value: view.fleet },
    { key: ATTRIBUTES.rollout, value: `${view.fleet}/${view.n}` },
    { key: ATTRIBUTES.state, value: view.state },
    { key: ATTRIBUTES.version, value: view.version ?? "" },
    { key: ATTRIBUTES.commit, value: view.commit },
  ].filter(({ key, value }) => shown.get(key) !== value);
  if (pairs.length > 0) upsertSearchAttributes(pairs);
  setCurrentDetails(describeNext(view));
}

/** Every message that has arrived has taken effect: only then may a run end or continue as new. */
export const settleMessages = (): Promise<void> => condition(allHandlersFinished);
