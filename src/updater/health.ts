/**
 * Whether the host is healthy (contract, "Health check"): the supervisor's service runs, its health endpoint answers 200,
 * the collector's health endpoint answers 200, in this order; and so several times in a row.
 */
import { StepError } from "../domain/update/step-error.ts";
import type { Clock } from "./clock.ts";
import type { StartMending } from "./start-mending.ts";

export type HealthSettings = {
  supervisorUrl: string | undefined;
  collectorUrl: string | undefined;
  successes: number;
  intervalMs: number;
  timeoutMs: number;
};
export type HealthDeps = {
  isServiceRunning: () => Promise<boolean>;
  clock: Clock;
  /** What may be done about a supervisor that does not come up. */
  mending?: StartMending;
  /** Answers the status of a GET; throws when there is none. */
  statusOf?: (url: string, timeoutMs: number) => Promise<number>;
};

const LONGEST_ANSWER_MS = 5_000;

/** Resolves once the host was healthy `successes` times in a row; throws (class `health`) with the last reason in time. */
export async function waitHealthy(settings: HealthSettings, deps: HealthDeps, signal?: AbortSignal): Promise<void> {
  const { clock } = deps;
  const deadline = clock.monotonicMs() + settings.timeoutMs;
  let inARow = 0;
  let note: string | undefined;
  for (;;) {
    const problem = await checkOnce(settings, deps);
    inARow = problem === undefined ? inARow + 1 : 0;
    if (inARow >= settings.successes) return;
    if (problem !== undefined) note = (await deps.mending?.look()) ?? note;
    const left = deadline - clock.monotonicMs();
    if (left <= 0 || (problem !== undefined && left < settings.intervalMs))
      throw new StepError(
        "health",
        `not healthy within ${settings.timeoutMs / 1_000} s: ${[problem ?? "too few checks", note].filter(Boolean).join("; ")}`,
      );
    await clock.sleep(Math.min(settings.intervalMs, left), signal);
  }
}

/** What is wrong now; undefined when nothing is. */
export async function checkOnce(settings: HealthSettings, deps: HealthDeps): Promise<string | undefined> {
  if (!(await deps.isServiceRunning())) return "the supervisor's service does not run";
  const statusOf = deps.statusOf ?? getStatus;
  const timeoutMs = Math.min(LONGEST_ANSWER_MS, Math.max(1_000, settings.intervalMs));
  for (const [name, url] of [
    ["supervisor", settings.supervisorUrl],
    ["collector", settings.collectorUrl],
  ] as const) {
    if (url === undefined) continue;
    try {
      const status = await statusOf(url, timeoutMs);
      if (status !== 200) return `the ${name}'s health endpoint answers ${status}`;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      return `the ${name}'s health endpoint does not answer (${code ?? "no reason"})`;
    }
  }
  return undefined;
}

async function getStatus(url: string, timeoutMs: number): Promise<number> {
  const { request } = await import("undici"); // not before it is needed: at rest the host program is to stay small
  const { statusCode, body } = await request(url, {
    signal: AbortSignal.timeout(timeoutMs),
    headers: { connection: "close" }, // a kept connection would ask the process that is gone
  });
  await body.dump({ limit: 64 * 1024 });
  return statusCode;
}
