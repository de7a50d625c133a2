/**
 * Since when an agent is healthy without a break. A rollout's health wait counts from there, so: it is set when health
 * begins; a new start time or an unhealthy report ends it; silence does neither (design/rollouts, "Targets and attempts").
 */
export type HealthReport = { healthy: boolean; startTimeUnixNano: bigint };
/** `Moment`: whatever the caller keeps time in. */
export type HealthSince<Moment> = { healthy: boolean; healthySince: Moment | null; startTimeNanos: bigint };

/** State after a report that arrived at `now`. */
export function healthAfter<Moment>(
  before: HealthSince<Moment>,
  report: HealthReport,
  now: Moment,
): HealthSince<Moment> {
  const startTimeNanos = report.startTimeUnixNano;
  if (!report.healthy) return { healthy: false, healthySince: null, startTimeNanos };
  const unbroken = before.healthy && before.healthySince !== null && before.startTimeNanos === startTimeNanos;
  return { healthy: true, healthySince: unbroken ? before.healthySince : now, startTimeNanos };
}

type Component = { healthy: boolean; componentHealthMap: ReadonlyMap<string, Component> };

/** Names of unhealthy components, `pipeline:traces/receiver:otlp`, sorted; at most `limit` of them. */
export function unhealthyComponents(root: Component, limit = 200): string[] {
  const found: string[] = [];
  const walk = (component: Component, path: string): void => {
    for (const [name, child] of component.componentHealthMap) {
      const at = path === "" ? name : `${path}/${name}`;
      if (!child.healthy) found.push(at);
      walk(child, at);
    }
  };
  walk(root, "");
  return found.toSorted().slice(0, limit);
}
