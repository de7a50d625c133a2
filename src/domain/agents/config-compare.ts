/**
 * Is what a collector runs still what it was sent? Its effective configuration is its own dump: defaults filled in, headers
 * as lists, durations written anew, variables expanded, a port and a process id that change at each start (design/opamp,
 * 3.5). So what was sent is looked for inside it, leaf by leaf; what else stands there does not count.
 */
export type Difference = { path: string; sent: unknown; effective: unknown };

export const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Holds a provider's expression, `${env:X}`: its value is the host's. `$$` is a dollar sign. */
export const hasExpression = (value: unknown): value is string =>
  typeof value === "string" && /(?:^|[^$])(?:\$\$)*\$\{/.test(value);

/** The supervisor's own additions, which differ from start to start. */
export function withoutSupervisorParts(effective: unknown): unknown {
  if (!isMap(effective)) return effective;
  const { extensions, service } = effective;
  const isOurs = (id: unknown): boolean => typeof id === "string" && /^opamp(?:\/|$)/.test(id);
  const kept = { ...effective };
  if (isMap(extensions))
    kept["extensions"] = Object.fromEntries(Object.entries(extensions).filter(([id]) => !isOurs(id)));
  if (!isMap(service)) return kept;
  const { telemetry, extensions: used } = service;
  kept["service"] = {
    ...service,
    ...(Array.isArray(used) ? { extensions: used.filter((id) => !isOurs(id)) } : {}),
    ...(isMap(telemetry)
      ? { telemetry: Object.fromEntries(Object.entries(telemetry).filter(([key]) => key !== "resource")) }
      : {}),
  };
  return kept;
}

export type Comparison = {
  differences: Difference[];
  /** What was sent as the effective configuration has it: equal leaves as they were sent, nothing that was not sent. */
  projection: unknown;
};

const ABSENT = Symbol("absent");
type Walk = { differences: Difference[]; path: string[] };

/** Both as parsed YAML. */
export function compareConfig(sent: unknown, effective: unknown): Comparison {
  const walk: Walk = { differences: [], path: [] };
  const projection = project(sent, withoutSupervisorParts(effective), walk);
  return { differences: walk.differences, projection: projection === ABSENT ? null : projection };
}

function project(sent: unknown, effective: unknown, walk: Walk): unknown {
  // An expression may come to anything; an empty value is filled with defaults.
  if (hasExpression(sent) || sent === null || sent === undefined) return sent;
  if (effective === ABSENT) return sent === "" ? sent : differs(sent, ABSENT, walk);
  if (isMap(sent)) return projectMap(sent, effective, walk);
  if (Array.isArray(sent)) return projectList(sent, effective, walk);
  return sameScalar(sent, effective) ? sent : differs(sent, effective, walk);
}

function projectMap(sent: Record<string, unknown>, effective: unknown, walk: Walk): unknown {
  const found = isMap(effective) ? effective : Array.isArray(effective) ? namedValues(effective) : undefined;
  const entries = Object.entries(sent);
  if (found === undefined) return entries.length === 0 && effective === null ? sent : differs(sent, effective, walk);
  const kept = entries.flatMap(([key, value]): [string, unknown][] => {
    const inner = at(walk, key, () => project(value, memberOf(found, key), walk));
    return inner === ABSENT ? [] : [[key, inner]];
  });
  return Object.fromEntries(kept);
}

function projectList(sent: unknown[], effective: unknown, walk: Walk): unknown {
  if (isMap(effective)) {
    const named = namedValues(sent);
    return named === undefined ? differs(sent, effective, walk) : projectMap(named, effective, walk);
  }
  if (!Array.isArray(effective)) {
    // One value in place of a list of one, and an empty list that was left out, say the same.
    if (sent.length === 1) return project(sent[0], effective, walk);
    return sent.length === 0 && effective === null ? sent : differs(sent, effective, walk);
  }
  // The supervisor unites these with its own.
  if (walk.path.join(".") === "service.extensions")
    return sent.every((id) => effective.includes(id)) ? sent : differs(sent, effective, walk);
  if (sent.length !== effective.length) return differs(sent, effective, walk);
  return sent.map((value, i) => {
    const inner = at(walk, String(i), () => project(value, effective[i], walk));
    return inner === ABSENT ? null : inner;
  });
}

function at<T>(walk: Walk, key: string, work: () => T): T {
  walk.path.push(key);
  try {
    return work();
  } finally {
    walk.path.pop();
  }
}

function differs(sent: unknown, effective: unknown, { differences, path }: Walk): unknown {
  differences.push({ path: path.join("."), sent, effective: effective === ABSENT ? undefined : effective });
  return effective;
}

/** The member of that name; header names are written in any case. */
export function memberOf(map: Record<string, unknown>, key: string): unknown {
  if (Object.hasOwn(map, key)) return map[key];
  const lower = key.toLowerCase();
  const near = Object.keys(map).find((name) => name.toLowerCase() === lower);
  return near === undefined ? ABSENT : map[near];
}
export const isAbsent = (value: unknown): boolean => value === ABSENT;

/** `[{name: a, value: 1}]`, or `key` for `name`, as `{a: 1}`; undefined when the list is another one. */
export function namedValues(list: readonly unknown[]): Record<string, unknown> | undefined {
  const pairs = list.map((entry): [string, unknown] | undefined => {
    if (!isMap(entry) || !("value" in entry)) return undefined;
    const name = entry["name"] ?? entry["key"];
    return typeof name === "string" ? [name, entry["value"]] : undefined;
  });
  return pairs.every((pair) => pair !== undefined) ? Object.fromEntries(pairs) : undefined;
}

/** What a collector writes in place of a value that it hides. */
const HIDDEN = "[REDACTED]";

function sameScalar(sent: unknown, effective: unknown): boolean {
  if (isMap(effective) || Array.isArray(effective)) return false;
  const [a, b] = [textOf(sent), textOf(effective)];
  if (a === b || b === HIDDEN) return true;
  if (a !== "" && b !== "" && Number(a) === Number(b)) return true;
  const [first, second] = [nanosOf(a), nanosOf(b)];
  if (first !== undefined && second !== undefined) return first === second;
  // Words of a fixed list come back in the collector's own spelling: `detailed` as `Detailed`.
  return /^[a-z_]+$/i.test(a) && a.toLowerCase() === b.toLowerCase();
}

const textOf = (scalar: unknown): string =>
  typeof scalar === "string" ? scalar : scalar === null || scalar === undefined ? "" : JSON.stringify(scalar);

const UNIT_NANOS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};

/** A duration as Go writes it, `1m30s`; `0` has no unit. */
function nanosOf(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(?:\d{1,15}(?:\.\d{1,9})?(?:ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g);
  return Array.from(parts).reduce((sum, [, count, unit]) => sum + Number(count) * (UNIT_NANOS[unit ?? ""] ?? 0), 0);
}
