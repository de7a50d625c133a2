/** Whether a collector runs a configuration, by what it reports or, when it says nothing, by what it runs. */
import { UNANSWERED_MS } from "../agents/config-state.ts";
import { CONFIG_STATUS, type CollectorFacts } from "./attempt-facts.ts";

/** `waitedMs`: how long an answer to the offer was waited for. */
export function hasConfig(collector: CollectorFacts, hash: string, waitedMs: number): boolean {
  if (collector.configHash === hash && collector.configStatus !== CONFIG_STATUS.unset)
    return collector.configStatus === CONFIG_STATUS.applied;
  if (collector.failedConfig?.hash === hash) return false;
  // Older supervisors are silent when equal content comes under a new hash (design/opamp, 4 #7).
  return waitedMs >= UNANSWERED_MS && collector.effectiveOf === hash;
}
