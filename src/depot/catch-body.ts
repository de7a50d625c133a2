/**
 * A request forgets what it has received and not yet given away when its connection is cut. Taken over at once, those
 * bytes still count, and the next put need not send them again.
 */
import { PassThrough, type Readable } from "node:stream";

/** What is taken over before the disks have it. */
const AHEAD_BYTES = 1024 ** 2;

export type Caught = {
  /** The bytes; it ends by itself, also when the body was cut. */
  bytes: Readable;
  /** What cut the body; undefined when it ended. To be asked after the end of `bytes`. */
  cut(): unknown;
};

export function catchBody(body: Readable): Caught {
  const bytes = new PassThrough({ highWaterMark: AHEAD_BYTES });
  let cut: unknown;
  const stop = (error: unknown): void => {
    if (body.readableEnded) return;
    cut ??= error;
    bytes.end();
  };
  body.on("error", stop);
  body.on("close", () => stop(new Error("the connection was closed")));
  bytes.on("close", () => body.destroy()); // nobody wants the rest
  if (body.errored !== null || (body.destroyed && !body.readableEnded))
    stop(body.errored ?? new Error("cut before it began"));
  else body.pipe(bytes);
  return { bytes, cut: () => cut };
}
