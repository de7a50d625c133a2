/**
 * When a collector is healthy (design/opamp, trap 7.3). `healthy: true` alone says little: a supervisor says it also with no
 * collector running. The pipelines of the configuration that it should run must be in its report, and the version right.
 */
export type HealthFacts = {
  healthy: boolean;
  /** Pipelines in its health report, `traces`; null: not known, which proves nothing against it. */
  pipelines: readonly string[] | null;
  /** Pipelines of the configuration that it should run; null: none of ours, or not known. */
  expected: readonly string[] | null;
  version: string;
  /** Null: any. */
  wantedVersion: string | null;
};
export type HealthVerdict = { ok: true } | { ok: false; because: string };

export function judgeHealth({ healthy, pipelines, expected, version, wantedVersion }: HealthFacts): HealthVerdict {
  if (!healthy) return no("it reports itself unhealthy");
  if (wantedVersion !== null && version !== wantedVersion) return no(`it runs ${version || "an unknown version"}`);
  if (pipelines === null) return { ok: true };
  if (pipelines.length === 0) return no("it says healthy, but no pipeline is in its report: no collector runs");
  const absent = (expected ?? []).filter((name) => !pipelines.includes(name));
  if (absent.length > 0) return no(`not in its health report: pipeline ${absent.slice(0, MAX_NAMED).join(", ")}`);
  return { ok: true };
}

const MAX_NAMED = 5;
const no = (because: string): HealthVerdict => ({ ok: false, because });

const PIPELINE = "pipeline:";

/** Pipelines of a health report's map: `pipeline:traces` is `traces`. */
export const pipelinesOf = (components: Iterable<string>, limit = 200): string[] =>
  Array.from(components)
    .filter((name) => name.startsWith(PIPELINE))
    .map((name) => name.slice(PIPELINE.length))
    .toSorted()
    .slice(0, limit);
