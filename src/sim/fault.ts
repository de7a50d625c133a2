/** Scripted faults: `<host pattern>:<kind>[@<step>][=<version>]`, for example `sim-0003:fail@verifying` or `sim-*:silent=0.162.0`. */
import { STEPS, type Step } from "../domain/brand.ts";
import { normalizeVersion } from "../domain/update/version.ts";

/** What each kind does, as `--help` says it. */
export const FAULT_KINDS = {
  fail: "the attempt fails at the step named after @ (default verifying); after the stop it is rolled back",
  rolled_back: "the new version is not healthy on the host: rolled back",
  rollback_failed: "as rolled_back, and the way back fails too",
  offline: "never connects",
  vanish: "goes away when it is offered something and does not come back",
  silent: "stays connected and reports nothing of the offer",
  unhealthy: "the update succeeds on the host, then the collector stays unhealthy",
  crash_loop: "the update succeeds on the host, then the collector restarts again and again",
  config_failed: "a remote configuration ends FAILED",
} as const;
type FaultKind = keyof typeof FAULT_KINDS;
export type Fault = { hosts: RegExp; kind: FaultKind; step: Step; version: string | undefined };

/** Throws a TypeError that says what is wrong with the text. */
export function parseFault(text: string): Fault {
  const match = /^([\w*?.-]+):(\w+)(?:@(\w+))?(?:=(\S+))?$/.exec(text);
  if (match === null) throw new TypeError(`${text}: want <host pattern>:<kind>[@<step>][=<version>]`);
  const [, pattern = "", kind = "", step = "verifying", versionText] = match;
  if (!Object.hasOwn(FAULT_KINDS, kind))
    throw new TypeError(`${text}: ${kind} is none of ${Object.keys(FAULT_KINDS).join(", ")}`);
  if (!(STEPS as readonly string[]).includes(step)) throw new TypeError(`${text}: ${step} is no step`);
  const version = versionText === undefined ? undefined : normalizeVersion(versionText);
  if (versionText !== undefined && version === undefined) throw new TypeError(`${text}: ${versionText} is no version`);
  return { hosts: globOf(pattern), kind: kind as FaultKind, step: step as Step, version };
}

const globOf = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("?", ".")}$`);

/** The first fault for this host; `version`: what is offered or run, if the fault asks for one. */
export const faultFor = (faults: readonly Fault[], host: string, version?: string): Fault | undefined =>
  faults.find((fault) => fault.hosts.test(host) && (fault.version === undefined || fault.version === version));
