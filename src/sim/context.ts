/** What all simulated hosts of one simulator share. */
import type { Dispatcher } from "undici";
import type { AgentLog } from "../protocol/agent-client.ts";
import type { Memory } from "./memory.ts";

export type SimContext = {
  /** Full URL of the OpAMP endpoint. */
  endpoint: string;
  /** Of the host's group. */
  headersOf: (group: string) => Record<string, string>;
  tls: { ca?: Buffer };
  /** Which address of this machine a host connects from; undefined: the usual one. */
  localAddressOf: (host: number) => string | undefined;
  /** For agents that poll. */
  http: Dispatcher;
  /** Where simulated updaters may download from. */
  allowedUrlPrefixes: readonly string[];
  heartbeatMs: number;
  failedRetryBackoffMs: number;
  memory: Memory;
  /** Messages since the start. */
  traffic: { sent: number; received: number };
  log: AgentLog;
  /** Aborted when the simulator ends. */
  signal: AbortSignal;
  /** Fetches and hashes; bytes are dropped. */
  download: Download;
};

/** SHA-256 in hexadecimal. `headers` is asked at each try, so that a fresh token counts. */
export type Download = (url: string, headers: () => Record<string, string>, signal: AbortSignal) => Promise<string>;
