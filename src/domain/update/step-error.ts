/**
 * Errors of a step: class, colon, text. The server reads the class there and nowhere else (decisions, "Waves and
 * targets"), so every error of the host program passes through here once.
 */
import { CONTRACT_DEFAULTS, FAILURE_CLASSES, type FailureClass, type Step } from "../brand.ts";
import { isFailure } from "../errors.ts";

/** An error that already knows its class. The message is for people and holds no secret. */
export class StepError extends Error {
  override readonly name = "StepError";
  readonly failureClass: FailureClass;
  constructor(failureClass: FailureClass, text: string, cause?: unknown) {
    super(`${failureClass}: ${text}`, cause === undefined ? undefined : { cause });
    this.failureClass = failureClass;
  }
}

/** The class that a step's error has when nothing more is known. */
export const CLASS_OF_STEP: Record<Step, FailureClass> = {
  downloading: "download",
  verifying: "verification",
  installing: "install",
  restarting: "install",
  health_check: "health",
  rolling_back: "rollback_failed",
};

const DISK_FULL = new Set(["ENOSPC", "EDQUOT"]);

/** Any error as an error of the step it happened in. */
export function asStepError(error: unknown, step: Step): StepError {
  if (error instanceof StepError) return error;
  const code = (error as { code?: unknown } | undefined)?.code;
  if (typeof code === "string" && DISK_FULL.has(code))
    return new StepError("disk_full", "no space left on the disk", error);
  const text = error instanceof Error ? error.message : "it ended without a reason";
  return new StepError(CLASS_OF_STEP[step], isFailure(error) ? `${text} [${error.code}]` : text, error);
}

const FAILED_UPDATE = /^update to v\S+ failed: /;

/** The class an error text begins with, also inside "update to v… failed: …"; undefined when it names none. */
export function failureClassOf(error: string): FailureClass | undefined {
  const text = error.replace(FAILED_UPDATE, "");
  return FAILURE_CLASSES.find((name) => text.startsWith(`${name}:`));
}

/** At most the contract's 1,000 characters, never half of a character. */
export function boundedText(text: string, maxChars: number = CONTRACT_DEFAULTS.maxErrorChars): string {
  if (text.length <= maxChars) return text;
  const cut = text.slice(0, maxChars - 1);
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}
