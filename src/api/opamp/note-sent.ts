/** What memory forgets when a configuration leaves: the row forgets the same (`noteConfigsSent`). */
import { REMOTE_CONFIG_STATUS } from "../../protocol/messages.ts";
import type { AgentRecord } from "../../store/agents.ts";
import { forgetFailure } from "./apply-report.ts";

/** An older refusal of it says nothing any more. */
export function noteSent(record: AgentRecord | undefined, hash: Buffer): void {
  if (record === undefined) return;
  if (record.failedConfigHash?.equals(hash) === true) forgetFailure(record);
  if (record.remoteConfigHash?.equals(hash) !== true || record.remoteConfigStatus !== REMOTE_CONFIG_STATUS.failed)
    return;
  record.remoteConfigStatus = REMOTE_CONFIG_STATUS.unset;
  record.remoteConfigError = "";
}
