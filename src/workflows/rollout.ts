/**
 * A rollout, top to bottom: artifacts, then wave after wave with its window and approval, then the end. `decide` says what
 * comes next from the rows alone, so a run that was lost is started again and goes on where the rows are.
 */
import {
  condition,
  continueAsNew,
  executeChild,
  ParentClosePolicy,
  proxyActivities,
  sleep,
  workflowInfo,
} from "@temporalio/workflow";
import { WorkflowExecutionAlreadyStartedError } from "@temporalio/common";
import type { RolloutActivities } from "../activities/rollouts.ts";
import { decide, type Next } from "../domain/rollout/decide.ts";
import { HOLDS } from "../domain/rollout/holds.ts";
import type { FinalState } from "../domain/rollout/phases.ts";
import { QUEUES, WORKFLOW_IDS } from "./messages.ts";
import { RETRY, openBook, readBook, settleMessages, type Book, type View } from "./rollout-book.ts";
import { CONTINUE_AFTER_EVENTS, wave, type WaveInput, type WaveResult } from "./wave.ts";

export type RolloutInput = {
  fleet: string;
  n: number;
  /** Events after which it continues as new, while no wave runs. */
  continueAfter?: number;
};
export type RolloutResult = { state: FinalState };

/** The server refuses the 10,001st signal. */
const CONTINUE_AFTER_SIGNALS = 200;

const short = proxyActivities<RolloutActivities>({ startToCloseTimeout: "1m", retry: RETRY });
const long = proxyActivities<RolloutActivities>({
  taskQueue: QUEUES.observe,
  startToCloseTimeout: "24h",
  heartbeatTimeout: "12s",
  retry: RETRY,
});

export async function rollout(input: RolloutInput): Promise<RolloutResult> {
  const { fleet, n, continueAfter = CONTINUE_AFTER_EVENTS } = input;
  const book = openBook(fleet, n);
  for (;;) {
    const next = decide(await readBook(book));
    switch (next.do) {
      case "prepare":
        await prepare(book);
        break;
      case "open_wave":
        await step(
          book,
          short.openWave.executeWithOptions({ summary: `start wave ${next.k + 1}` }, [{ fleet, n, k: next.k }]),
        );
        break;
      case "run_wave":
        await runWave(book, next.k, "forward");
        break;
      case "drain":
        await runWave(book, null, "forward");
        break;
      case "roll_back":
        await rollBack(book);
        break;
      case "wait":
        await wait(book, next);
        break;
      case "end":
        await end(book, next.outcome, null);
        break;
      case "ended":
        await settleMessages();
        // A message that came last may have opened the rollout again.
        if (!book.stale) return { state: next.outcome };
        break;
    }
    const isLong = workflowInfo().historyLength > continueAfter || book.signals >= CONTINUE_AFTER_SIGNALS;
    if (isLong) {
      await settleMessages();
      await continueAsNew<typeof rollout>(input);
    }
  }
}

/** Takes the rollout as an activity returns it; rows that a message changed meanwhile are read again. */
async function step(book: Book, returned: Promise<View>): Promise<void> {
  const view = await returned;
  if (!book.stale) book.view = view;
}

async function prepare(book: Book): Promise<void> {
  const { fleet, n } = book;
  const preparing = long.ensureArtifacts.executeWithOptions({ summary: "fetch, verify, replicate the artifacts" }, [
    { fleet, n },
  ]);
  const prepared = await whileReading(book, preparing);
  book.stale = true;
  if (prepared.state === "failed") await end(book, "failed", prepared.because);
}

/** Waits for work that takes long; messages and what they change are shown meanwhile. */
async function whileReading<T>(book: Book, work: Promise<T>): Promise<T> {
  const state = { isOver: false };
  const over = (): void => {
    state.isOver = true;
  };
  work.then(over, over);
  while (!state.isOver) {
    await condition(() => state.isOver || book.stale);
    if (!state.isOver) await readBook(book);
  }
  return work;
}

/** Runs a wave to its end as a child. Without a `k`: everything in flight, or everything back. */
async function runWave(book: Book, k: number | null, direction: "forward" | "back"): Promise<WaveResult> {
  const { fleet, n, view } = book;
  const holds = HOLDS.filter((hold) => view?.holds[hold] !== undefined).join(",");
  const name = view?.waves.find((one) => one.k === k)?.name ?? (direction === "back" ? "back" : "drain");
  const input: WaveInput = { fleet, n, k, direction, holds };
  const result = await whileReading(
    book,
    runChild(
      k === null ? `${WORKFLOW_IDS.rollout(fleet, n)}/wave/${name}` : WORKFLOW_IDS.wave(fleet, n, k),
      input,
      name,
    ),
  );
  book.stale = true;
  return result;
}

async function runChild(workflowId: string, input: WaveInput, name: string): Promise<WaveResult> {
  for (;;) {
    try {
      return await executeChild(wave, {
        workflowId,
        args: [input],
        parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
        staticSummary: `fleet ${input.fleet}: ${name}`,
      });
    } catch (error) {
      // A child of a run that was terminated is still being cancelled.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      await sleep("2s");
    }
  }
}

async function rollBack(book: Book): Promise<void> {
  const { reason } = await runWave(book, null, "back");
  if (reason === "done") await end(book, "rolled_back", null);
}

async function wait(book: Book, next: Extract<Next, { do: "wait" }>): Promise<void> {
  const { fleet, n, view } = book;
  if (next.for === "window" && view?.state !== "waiting_window") {
    await step(book, short.noteWindow.executeWithOptions({ summary: "outside all windows" }, [{ fleet, n }]));
    return;
  }
  const isChanged = (): boolean => book.stale;
  if (next.untilMs === null || next.untilMs >= Number.MAX_SAFE_INTEGER) return condition(isChanged);
  const hasChanged = await condition(isChanged, Math.max(1, next.untilMs - Date.now()));
  if (hasChanged) return;
  const ref = { fleet, n };
  if (next.for === "approval")
    await step(book, short.expireApproval.executeWithOptions({ summary: "nobody approved" }, [ref]));
  else book.stale = true;
}

async function end(book: Book, outcome: FinalState, because: string | null): Promise<void> {
  const { fleet, n } = book;
  const ended = short.endRollout.executeWithOptions({ summary: `end: ${outcome}` }, [{ fleet, n, outcome, because }]);
  await step(book, ended);
}
