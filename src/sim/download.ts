/** A real download whose bytes are hashed and dropped. Tries again when the server is busy, a bounded number of times. */
import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { Agent, request, type Dispatcher } from "undici";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { StepError } from "../domain/update/step-error.ts";
import { retryAfterMs } from "../protocol/backoff.ts";
import type { Download } from "./context.ts";

const TRIES = 30;
const BUSY_MS = 1_000;

/** `atOnce`: downloads of the whole simulator at the same time. */
export function createDownload(atOnce: number, chance: () => number): Download & { close(): Promise<void> } {
  const dispatcher = new Agent({ connections: atOnce, bodyTimeout: CONTRACT_DEFAULTS.idleTimeoutMs });
  const download: Download = async (url, headers, signal) => {
    for (let attempt = 1; ; attempt++) {
      const response = await request(url, { dispatcher, headers: headers(), signal });
      if (response.statusCode === 200) return await hashOf(response.body);
      await response.body.dump();
      const busy = response.statusCode === 503 || response.statusCode === 429;
      if (!busy || attempt === TRIES) throw new StepError("download", `the server answered ${response.statusCode}`);
      const header = response.headers["retry-after"];
      const leastMs = retryAfterMs(Array.isArray(header) ? header[0] : header, Date.now()) ?? BUSY_MS;
      await wait(leastMs * (1 + chance()), undefined, { signal });
    }
  };
  return Object.assign(download, { close: () => dispatcher.close() });
}

async function hashOf(body: Dispatcher.ResponseData["body"]): Promise<string> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > CONTRACT_DEFAULTS.maxArchiveBytes) throw new StepError("download", "the archive is too large");
    hash.update(chunk);
  }
  return hash.digest("hex");
}
