/** A scenario: one strict YAML file that says which hosts there are, how they behave, and what happens to them when. */
import { z } from "zod";
import { FAILURE_CLASSES, STEPS } from "../domain/brand.ts";
import { readStrictYaml, type ConfigIssue, type Locate } from "../domain/config/strict-yaml.ts";
import { normalizeVersion } from "../domain/update/version.ts";
import { ANY_HOST, FAULT_NAMES, type Fault } from "./fault.ts";
import { countsOf, type Timing } from "./plan.ts";
import { duration, spread } from "./spread.ts";

export const MAX_HOSTS = 50_000;
const text = z.string().min(1, "must not be empty");
const groupName = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/, "write lower-case letters, digits and -");
const count = z.int().min(1).max(MAX_HOSTS);

/** `12.5%` → 0.125. */
const percent = z
  .string()
  .regex(/^(100|\d{1,2})(\.\d+)?%$/, "not a share: write for example 5% or 12.5%")
  .transform((value) => Math.min(1, Number(value.slice(0, -1)) / 100));

const NO_VERSION = "not a version: write for example 0.160.0";
const version = z.string().transform((value, context) => {
  const plain = normalizeVersion(value);
  if (plain !== undefined) return plain;
  context.addIssue({ code: "custom", message: NO_VERSION });
  return z.NEVER;
});

const fault = z.strictObject({
  kind: z.enum(FAULT_NAMES),
  share: percent.prefault("100%"),
  step: z.enum(STEPS).optional(),
  class: z.enum(FAILURE_CLASSES).optional(),
  version: version.optional(),
  skip: z.int().min(0).default(0),
  times: z.int().min(1).optional(),
  every: duration.optional(),
  for: duration.optional(),
});

const group = z.strictObject({
  name: groupName,
  hosts: count.optional(),
  share: percent.optional(),
  /** An enrolment token of its own, and so labels of its own; relative to the scenario file. */
  tokenFile: text.optional(),
  transport: z.enum(["websocket", "http"]).default("websocket"),
  distribution: text.default("otelcol-contrib"),
  os: text.default("linux"),
  arch: text.default("amd64"),
  version: version.prefault("0.160.0"),
  /** Version → weight. */
  versions: z.record(z.string(), z.number().min(0)).default({}),
  attributes: z.record(text, z.string()).default({}),
  components: z
    .array(z.string().regex(/^(receivers|processors|exporters|connectors|extensions)\/\w+$/, "write section/type"))
    .optional(),
  latency: spread.prefault("0"),
  step: spread.prefault("200ms"),
  steps: z
    .strictObject({
      downloading: spread.optional(),
      verifying: spread.optional(),
      installing: spread.optional(),
      restarting: spread.optional(),
      health_check: spread.optional(),
      rolling_back: spread.optional(),
    })
    .prefault({}),
  start: spread.optional(),
  apply: spread.prefault("0"),
  download: z.enum(["real", "hash"]).default("real"),
  faults: z.array(fault).default([]),
});

const event = z.strictObject({
  at: duration,
  every: duration.optional(),
  times: z.int().min(1).default(1),
  do: z.enum(["storm", "offline", "restart"]),
  for: duration.optional(),
  groups: z.array(text).min(1).optional(),
  share: percent.prefault("100%"),
});

const schema = z.strictObject({
  seed: z.int().min(0).default(1),
  /** What groups take their shares of. */
  hosts: count.optional(),
  connectPerSecond: z.int().min(1).max(100_000).default(80),
  heartbeat: duration.prefault("30s"),
  failedRetryBackoff: duration.prefault("10m"),
  downloads: z.int().min(1).default(16),
  /** From when all hosts are connected; absent: until it is stopped. */
  end: duration.optional(),
  groups: z.array(group).min(1),
  events: z.array(event).default([]),
});
type ScenarioFile = z.output<typeof schema>;

/** What happens to a part of the fleet; times count from when all hosts have been connected. */
export type FleetEvent = {
  atMs: number;
  /** Again after each of these, `times` in all. */
  everyMs: number | undefined;
  times: number;
  do: "storm" | "offline" | "restart";
  forMs: number;
  /** Absent: all. */
  groups: readonly string[] | undefined;
  share: number;
};
export type Group = Omit<
  ScenarioFile["groups"][number],
  "faults" | "latency" | "step" | "steps" | "start" | "apply" | "components"
> & {
  timing: Timing;
  components: readonly string[] | undefined;
  faults: readonly Fault[];
};
export type Scenario = {
  seed: number;
  hosts: number | undefined;
  connectPerSecond: number;
  heartbeatMs: number;
  failedRetryBackoffMs: number;
  downloadsAtOnce: number;
  endMs: number | undefined;
  groups: readonly Group[];
  events: readonly FleetEvent[];
};
export type ScenarioResult = { ok: true; scenario: Scenario } | { ok: false; issues: ConfigIssue[] };

/** Parses and checks the whole file. `hosts` takes the place of the file's. Everything that is wrong is named at once. */
export function parseScenario(content: string, file: string, hosts?: number): ScenarioResult {
  const read = readStrictYaml(schema, content, file);
  if (!read.ok) return { ok: false, issues: read.issues };
  const value = hosts === undefined ? read.value : { ...read.value, hosts };
  const issues = check(value, read.locate);
  return issues.length > 0 ? { ok: false, issues } : { ok: true, scenario: toScenario(value) };
}

const toFault = (it: z.output<typeof fault>): Fault => ({
  hosts: ANY_HOST,
  share: it.share,
  kind: it.kind,
  step: it.step,
  failureClass: it.class,
  version: it.version,
  skip: it.skip,
  times: it.times ?? Number.POSITIVE_INFINITY,
  everyMs: it.every,
  forMs: it.for,
});

const toScenario = (it: ScenarioFile): Scenario => ({
  seed: it.seed,
  hosts: it.hosts,
  connectPerSecond: it.connectPerSecond,
  heartbeatMs: it.heartbeat,
  failedRetryBackoffMs: it.failedRetryBackoff,
  downloadsAtOnce: it.downloads,
  endMs: it.end,
  groups: it.groups.map(({ latency, step, steps, start, apply, components, ...one }) => ({
    ...one,
    components,
    timing: { latency, step, steps, start, apply },
    faults: one.faults.map(toFault),
  })),
  events: it.events.map(({ at, every, for: long, ...one }) => ({
    ...one,
    atMs: at,
    everyMs: every,
    forMs: long ?? 0,
    groups: one.groups,
  })),
});

type Report = (path: (string | number)[], message: string) => void;

function check(it: ScenarioFile, locate: Locate): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const report: Report = (path, message) =>
    void issues.push({ severity: "error", ...locate(path), path: path.join("."), message });
  checkCounts(it, report);
  const names = it.groups.map(({ name }) => name);
  for (const [i, one] of it.groups.entries()) {
    if (names.indexOf(one.name) < i) report(["groups", i, "name"], "another group has this name");
    for (const key of Object.keys(one.versions))
      if (normalizeVersion(key) !== key) report(["groups", i, "versions", key], NO_VERSION);
    for (const [n, its] of one.faults.entries())
      checkFault(its, (path, message) => report(["groups", i, "faults", n, ...path], message));
  }
  for (const [i, one] of it.events.entries()) {
    for (const [n, name] of (one.groups ?? []).entries())
      if (!names.includes(name)) report(["events", i, "groups", n], `there is no group ${name}`);
    if ((one.do === "offline") !== (one.for !== undefined))
      report(["events", i, "for"], one.do === "offline" ? "say for how long" : "only offline lasts for a time");
    if (one.times > 1 !== (one.every !== undefined)) report(["events", i, "every"], "every and times go together");
  }
  return issues.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

function checkCounts(it: ScenarioFile, report: Report): void {
  for (const [i, { hosts, share }] of it.groups.entries()) {
    if ((hosts === undefined) === (share === undefined)) report(["groups", i], "give exactly one of hosts, share");
    if (share !== undefined && it.hosts === undefined) report(["groups", i, "share"], "a share needs hosts at the top");
  }
  const shares = it.groups.reduce((sum, { share }) => sum + (share ?? 0), 0);
  if (shares > 1.000_001) report(["groups"], "the shares are more than 100%");
  const total = countsOf(toScenario(it)).reduce((a, b) => a + b, 0);
  if (total > MAX_HOSTS) report(["groups"], `${total} hosts are more than ${MAX_HOSTS}`);
}

const AFTER_STOP: readonly string[] = ["installing", "restarting", "health_check"];

function checkFault({ kind, step, class: failureClass, ...more }: z.output<typeof fault>, report: Report): void {
  const isAttempt = ["fail", "rolled_back", "rollback_failed"].includes(kind);
  const only = (key: string, value: unknown, fits: boolean): void => {
    if (value !== undefined && !fits) report([key], `${kind} has no ${key}`);
  };
  only("step", step, isAttempt);
  only("class", failureClass, isAttempt);
  only("every", more.every, kind === "flapping" || kind === "crash_loop");
  only("for", more.for, kind === "flapping" || kind === "config_slow");
  const hasOccasions = isAttempt || kind.startsWith("config_") || kind === "silent" || kind === "vanish";
  only("times", more.times, hasOccasions);
  only("skip", more.skip === 0 ? undefined : more.skip, hasOccasions);
  if (step === "rolling_back") report(["step"], "for a failing way back there is rollback_failed");
  else if (step !== undefined && isAttempt && kind !== "fail" && !AFTER_STOP.includes(step))
    report(["step"], `before the stop nothing is rolled back: ${AFTER_STOP.join(", ")}`);
  if (more.every === 0) report(["every"], "must be longer than 0");
}
