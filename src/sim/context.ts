/** What all simulated hosts of one simulator share. */
import type { AgentLog } from "../protocol/agent-client.ts";
import type { Fault } from "./fault.ts";
import type { Memory } from "./memory.ts";

export type SimContext = {
  /** Full URL of the OpAMP endpoint. */
  endpoint: string;
  headers: Record<string, string>;
  tls: { ca?: Buffer };
  /** Where simulated updaters may download from. */
  allowedUrlPrefixes: readonly string[];
  distribution: string;
  os: string;
  arch: string;
  /** Added to what every simulated agent reports of itself. */
  attributes: Record<string, string>;
  heartbeatMs: number;
  /** How long each step takes that has nothing real to do. */
  stepMs: number;
  failedRetryBackoffMs: number;
  faults: readonly Fault[];
  memory: Memory;
  log: AgentLog;
  /** Aborted when the simulator ends. */
  signal: AbortSignal;
  /** Fetches and hashes; bytes are dropped. */
  download: Download;
};

/** SHA-256 in hexadecimal. `headers` is asked at each try, so that a fresh token counts. */
export type Download = (url: string, headers: () => Record<string, string>, signal: AbortSignal) => Promise<string>;
