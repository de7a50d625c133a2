/** What leaves an activity of artifacts: one failure with the catalogue's code as type; the catalogue decides on retries. */
import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import { isFailure } from "../domain/errors.ts";

/** Codes that no retry mends are not retried; everything unknown is, as `internal`, without its text. */
export function asActivityFailure(error: unknown): Error {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  if (!isFailure(error))
    return ApplicationFailure.create({ type: "internal", message: "an internal error occurred; the log has it" });
  return ApplicationFailure.create({
    type: error.code,
    message: error.message,
    nonRetryable: error.handling === "halt",
  });
}

type Log = { error(fields: object, message: string): void };
type Activities = Record<string, (...args: never[]) => Promise<unknown>>;

/** The same activities; each lets nothing out but such failures. What they hide is in the log. */
export function withActivityFailures<T extends Activities>(activities: T, log: Log): T {
  const wrapped = Object.entries(activities).map(([name, activity]) => [
    name,
    async (...args: never[]) => {
      try {
        return await activity(...args);
      } catch (error) {
        // a cancellation is an answer, not a fault
        if (!isFailure(error) && !(error instanceof CancelledFailure))
          log.error({ err: error, activity: name }, "an activity failed");
        throw asActivityFailure(error);
      }
    },
  ]);
  return Object.fromEntries(wrapped) as T;
}
