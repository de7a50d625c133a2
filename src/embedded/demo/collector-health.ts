/**
 * Health of the running collector, asked from its own health endpoint; a collector without one counts as healthy while it
 * runs. How it looks on the wire follows the real supervisor's reports.
 */
import type { ComponentHealth } from "../../protocol/messages.ts";
import { componentGroups, type Mapping } from "./collector-config.ts";

export type CollectorHealth = { healthy: boolean; status: string; lastError: string };

export const STARTING: CollectorHealth = { healthy: false, status: "StatusStarting", lastError: "" };
const OK: CollectorHealth = { healthy: true, status: "StatusOK", lastError: "" };

const ASK_EVERY_MS = 500;
const ANSWER_WITHIN_MS = 2_000;

/**
 * Asks until the returned function is called. `onHealth` hears every answer of the process `pid`; while a new collector
 * does not answer yet it hears nothing. An empty endpoint means that there is nobody to ask.
 */
export function watchHealth(
  endpoint: string,
  pid: number | undefined,
  onHealth: (health: CollectorHealth) => void,
): () => void {
  let stopped = false;
  let answered = false;
  let timer: NodeJS.Timeout | undefined;
  const ask = async () => {
    const health = endpoint === "" ? OK : await askOnce(endpoint, pid);
    if (stopped) return;
    answered ||= health !== undefined;
    if (health !== undefined) onHealth(health);
    else if (answered) onHealth(unhealthy("the health endpoint does not answer"));
    timer = setTimeout(() => void ask(), ASK_EVERY_MS);
  };
  timer = setTimeout(() => void ask(), 0);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

const unhealthy = (lastError: string): CollectorHealth => ({
  healthy: false,
  status: "StatusRecoverableError",
  lastError,
});

/**
 * One answer of the health endpoint; undefined when nobody answers, or another process does: an orphan that holds the
 * port is as healthy as it ever was, and says nothing about the collector that was started.
 */
async function askOnce(endpoint: string, pid: number | undefined): Promise<CollectorHealth | undefined> {
  const url = `http://${endpoint.replace(/^0\.0\.0\.0|^(?=:)/, "127.0.0.1")}/`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const answer: unknown = await response.json();
    const named = typeof answer === "object" && answer !== null && "pid" in answer ? answer.pid : pid;
    if (named !== pid) return undefined;
    return response.ok ? OK : unhealthy(`the health endpoint answered ${response.status}`);
  } catch {
    return undefined; // refused, reset or silent: the caller tells a start from an outage
  }
}

/** The report for a collector that was started at `startedAtMs` on `config`; components share its health. */
export function healthReport(
  health: CollectorHealth,
  config: Mapping,
  startedAtMs: number | undefined,
): ComponentHealth {
  const startTimeUnixNano = BigInt(startedAtMs ?? 0) * 1_000_000n;
  const statusTimeUnixNano = BigInt(Date.now()) * 1_000_000n;
  const leaf = (children: Map<string, ComponentHealth>): ComponentHealth => ({
    healthy: health.healthy,
    startTimeUnixNano,
    lastError: "",
    status: health.status,
    statusTimeUnixNano,
    componentHealthMap: children,
  });
  const groups = health.status === "" ? [] : [...componentGroups(config)];
  const components = groups.map(([group, names]): [string, ComponentHealth] => [
    group,
    leaf(new Map(names.map((name) => [name, leaf(new Map())]))),
  ]);
  return { ...leaf(new Map(components)), lastError: health.lastError };
}
