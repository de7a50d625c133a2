/** The simulator's own account of its hosts: what the server has to say of them once everything has arrived. */
import type { UpdateAttempt } from "../domain/update/health-report.ts";
import { REMOTE_CONFIG_STATUS } from "../protocol/messages.ts";
import type { Answer, HostMemory } from "./memory.ts";

type ConfigState = keyof typeof REMOTE_CONFIG_STATUS;
export type HostAccount = {
  name: string;
  group: string;
  collector: {
    uid: string;
    connected: boolean;
    healthy: boolean;
    version: string;
    /** The one that was received last. */
    config: { hash: string; status: ConfigState; error: string } | null;
  };
  updater: {
    uid: string;
    connected: boolean;
    package: Pick<Answer, "status" | "offeredVersion" | "error"> | null;
    attempt: UpdateAttempt | null;
  };
  attempts: { begun: number; succeeded: number; failed: number; rolledBack: number };
};

/** How a host is right now, beside what it remembers. */
export type Live = {
  group: string;
  collectorConnected: boolean;
  updaterConnected: boolean;
  healthy: boolean;
};

export function accountOf(memory: HostMemory, live: Live): HostAccount {
  const { config, answer, outcomes } = memory;
  return {
    name: memory.name,
    group: live.group,
    collector: {
      uid: memory.collectorUid,
      connected: live.collectorConnected,
      healthy: live.healthy,
      version: memory.version,
      config: config === undefined ? null : { ...config, status: configState(config.status) },
    },
    updater: {
      uid: memory.updaterUid,
      connected: live.updaterConnected,
      package:
        answer === undefined
          ? null
          : { status: answer.status, offeredVersion: answer.offeredVersion, error: answer.error },
      attempt: memory.attempt ?? null,
    },
    attempts: {
      begun: memory.attempts,
      succeeded: outcomes.succeeded,
      failed: outcomes.failed,
      rolledBack: outcomes.rolled_back,
    },
  };
}

const configState = (status: number): ConfigState =>
  (Object.keys(REMOTE_CONFIG_STATUS) as ConfigState[]).find((name) => REMOTE_CONFIG_STATUS[name] === status) ?? "unset";
