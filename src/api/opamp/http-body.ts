/** The body of an agent's request: bounded in size before and after inflation, in time, and in what all of them hold. */
import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { MAX_MESSAGE_BYTES } from "./connection.ts";

export type Body =
  | { is: "whole"; data: Buffer }
  | { is: "too_large" | "too_slow" | "busy" | "unknown_encoding" | "broken" | "gone" };

const BODY_MS = 30_000;
/** What all requests together may hold: sixteen of the largest. Ordinary ones have a few KiB. */
const MAX_HELD_BYTES = 16 * MAX_MESSAGE_BYTES;

const inflate = promisify(gunzip);

export function createBodies(): { read: (request: IncomingMessage) => Promise<Body> } {
  let held = 0;

  const collect = (request: IncomingMessage): Promise<Body> =>
    new Promise((resolve) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      const end = (body: Body): void => {
        clearTimeout(tooSlow);
        held -= bytes;
        request.off("data", onData).off("end", onEnd).off("error", onGone).off("close", onGone);
        request.on("error", () => undefined);
        if (body.is !== "whole") request.pause();
        resolve(body);
      };
      const onData = (part: Buffer): void => {
        bytes += part.length;
        held += part.length;
        if (bytes > MAX_MESSAGE_BYTES) end({ is: "too_large" });
        else if (held > MAX_HELD_BYTES) end({ is: "busy" });
        else parts.push(part);
      };
      const onEnd = (): void => end({ is: "whole", data: Buffer.concat(parts) });
      const onGone = (): void => end({ is: "gone" });
      const tooSlow = setTimeout(() => end({ is: "too_slow" }), BODY_MS);
      request.on("data", onData).on("end", onEnd).on("error", onGone).on("close", onGone);
    });
  const unpack = async (data: Buffer): Promise<Body> => {
    // A bomb may become this much: its place is taken before.
    if (held + MAX_MESSAGE_BYTES > MAX_HELD_BYTES) return { is: "busy" };
    held += MAX_MESSAGE_BYTES;
    try {
      return { is: "whole", data: await inflate(data, { maxOutputLength: MAX_MESSAGE_BYTES }) };
    } catch (error) {
      return { is: (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? "too_large" : "broken" };
    } finally {
      held -= MAX_MESSAGE_BYTES;
    }
  };
  return {
    async read(request) {
      const encoding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
      if (encoding !== "gzip" && encoding !== "identity") return { is: "unknown_encoding" };
      if (Number(request.headers["content-length"] ?? 0) > MAX_MESSAGE_BYTES) return { is: "too_large" };
      const body = await collect(request);
      return body.is === "whole" && encoding === "gzip" ? unpack(body.data) : body;
    },
  };
}
