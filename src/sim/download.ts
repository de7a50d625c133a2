/** A real download whose bytes are hashed and dropped. Tries again when the server is busy or gone, a bounded number of times. */
import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { Agent, request, type Dispatcher } from "undici";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { StepError } from "../domain/update/step-error.ts";
import { retryAfterMs } from "../protocol/backoff.ts";
import type { Download } from "./context.ts";

const TRIES = 60;
const BUSY_MS = 1_000;

/** `atOnce`: downloads of the whole simulator at the same time. */
export function createDownload(atOnce: number, chance: () => number): Download & { close(): Promise<void> } {
  const dispatcher = new Agent({ connections: atOnce, bodyTimeout: CONTRACT_DEFAULTS.idleTimeoutMs });
  const download: Download = async (url, headers, signal) => {
    for (let attempt = 1; ; attempt++) {
      const tried = await tryOnce(dispatcher, url, headers(), signal);
      if ("sha256" in tried) return tried.sha256;
      if (!tried.again || attempt === TRIES) throw new StepError("download", tried.because);
      await wait((tried.leastMs ?? BUSY_MS) * (1 + chance()), undefined, { signal });
    }
  };
  return Object.assign(download, { close: () => dispatcher.close() });
}

type Tried = { sha256: string } | { again: boolean; because: string; leastMs?: number };

/** A connection that was cut, or a server that is just starting, is no verdict: real updaters go on as well. */
async function tryOnce(
  dispatcher: Agent,
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Tried> {
  try {
    const response = await request(url, { dispatcher, headers, signal });
    if (response.statusCode === 200) return { sha256: await hashOf(response.body) };
    await response.body.dump();
    const header = response.headers["retry-after"];
    const leastMs = retryAfterMs(Array.isArray(header) ? header[0] : header, Date.now());
    const again = response.statusCode === 429 || response.statusCode >= 500;
    return { again, because: `the server answered ${response.statusCode}`, ...(leastMs !== undefined && { leastMs }) };
  } catch (error) {
    if (signal.aborted || error instanceof StepError) throw error;
    return { again: true, because: (error as Error).message };
  }
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
