/**
 * Scripted faults. In a scenario they are entries of a group; on the command line one is
 * `<host pattern>:<kind>[@<step>][=<version>]`, for example `sim-0003:fail@verifying` or `sim-*:silent=0.162.0`.
 */
import { STEPS, type FailureClass, type Step } from "../domain/brand.ts";
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
  flapping: "the collector is unhealthy for a moment, again and again",
  config_failed: "a remote configuration ends FAILED, and the collector stays down until it gets another one",
  config_rolled_back: "a remote configuration ends FAILED, then the one before is APPLIED again",
  config_slow: "a remote configuration stays APPLYING for a while",
  clone: "starts with the instance UIDs of the first host of its group, as a copied machine does",
} as const;
export type FaultKind = keyof typeof FAULT_KINDS;
export const FAULT_NAMES = Object.keys(FAULT_KINDS) as [FaultKind, ...FaultKind[]];

export type Fault = {
  hosts: RegExp;
  /** How many of those hosts have it, 0 to 1. */
  share: number;
  kind: FaultKind;
  step: Step | undefined;
  /** Of the error, where the step's own class is not meant. */
  failureClass: FailureClass | undefined;
  version: string | undefined;
  /** Of the occasions of a host (attempts, configurations) the first `skip` are spared, then `times` are hit. */
  skip: number;
  times: number;
  everyMs: number | undefined;
  forMs: number | undefined;
};

export const ANY_HOST = /^/;
export const PLAIN_FAULT = {
  hosts: ANY_HOST,
  share: 1,
  step: undefined,
  failureClass: undefined,
  version: undefined,
  skip: 0,
  times: Number.POSITIVE_INFINITY,
  everyMs: undefined,
  forMs: undefined,
} as const satisfies Partial<Fault>;

/** Throws a TypeError that says what is wrong with the text. */
export function parseFault(text: string): Fault {
  const match = /^([\w*?.-]+):(\w+)(?:@(\w+))?(?:=(\S+))?$/.exec(text);
  if (match === null) throw new TypeError(`${text}: want <host pattern>:<kind>[@<step>][=<version>]`);
  const [, pattern = "", kind = "", step, versionText] = match;
  if (!Object.hasOwn(FAULT_KINDS, kind)) throw new TypeError(`${text}: ${kind} is none of ${FAULT_NAMES.join(", ")}`);
  if (step !== undefined && !(STEPS as readonly string[]).includes(step))
    throw new TypeError(`${text}: ${step} is no step`);
  const version = versionText === undefined ? undefined : normalizeVersion(versionText);
  if (versionText !== undefined && version === undefined) throw new TypeError(`${text}: ${versionText} is no version`);
  return {
    ...PLAIN_FAULT,
    hosts: globOf(pattern),
    kind: kind as FaultKind,
    step: step as Step | undefined,
    version,
  };
}

const globOf = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("?", ".")}$`);

export type Occasion = {
  /** What is offered or run, if the fault asks for one. */
  version?: string | undefined;
  /** The how-manieth of its sort on this host, from 1. */
  n?: number;
};

/** The first of a host's faults that is one of `kinds` and means this occasion. */
export const faultFor = <K extends FaultKind>(
  faults: readonly Fault[],
  kinds: readonly K[],
  { version, n }: Occasion = {},
): (Fault & { kind: K }) | undefined =>
  faults.find(
    (fault): fault is Fault & { kind: K } =>
      (kinds as readonly FaultKind[]).includes(fault.kind) &&
      (fault.version === undefined || fault.version === version) &&
      (n === undefined || (n > fault.skip && n <= fault.skip + fault.times)),
  );
