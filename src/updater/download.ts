/**
 * Downloads an archive into the spool folder, hashed while it is written. A cut download goes on where it was (`Range`
 * with `If-Range`); a server that ignores the range, or whose file changed, makes it start over. Limits: size, idle time
 * and tries without progress, never the whole time, because archives are large. Nothing of it is trusted yet.
 */
import { dirname } from "node:path";
import { Agent, request, type Dispatcher } from "undici";
import { judgeRedirect, judgeUrl } from "../domain/update/allowed-url.ts";
import { StepError } from "../domain/update/step-error.ts";
import type { Clock } from "./clock.ts";
import type { Files } from "./files.ts";
import { Spool } from "./spool.ts";

export type DownloadHeaders = readonly { key: string; value: string }[];
export type Download = {
  url: string;
  /** Asked before each request: a fresh token counts for a download in progress. */
  headers: () => DownloadHeaders;
  allowedUrlPrefixes: readonly string[];
  /** Must not exist yet. Removed when the download fails. */
  spoolFile: string;
  maxBytes: number;
  idleTimeoutMs: number;
  signal: AbortSignal;
  /** Throws when the disk has no room; asked once the size is known, before the first byte. */
  requireRoom?: (size: { archiveBytes: number; missingBytes: number }) => Promise<void>;
  onProgress?: (bytes: number, ofBytes: number | undefined) => void;
};
type Spooled = { path: string; sha256: string; bytes: number };
export type Downloader = (download: Download) => Promise<Spooled>;

/** Tries in a row that bring no further byte. */
const MAX_FRUITLESS = 4;
const MAX_NOT_FOUND = 3;
/** Tries that a server may put off by 429 or 503. */
const MAX_THROTTLED = 12;
const LONGEST_THROTTLE_MS = 300_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

export type DownloaderDeps = {
  files: Files;
  clock: Clock;
  tls?: { ca?: Buffer | undefined; cert?: Buffer | undefined; key?: Buffer | undefined } | undefined;
  log: { info(fields: object, message: string): void };
};

/** Errors are `StepError`s of class `download`, `disk_full` or `policy_refused`, without URL query or header. */
export function createDownloader(deps: DownloaderDeps): Downloader {
  return async (download) => {
    const { spoolFile, signal } = download;
    const { files } = deps;
    await files.makeFolder(dirname(spoolFile), 0o700);
    const file = await files.create(spoolFile, 0o600);
    const spool = new Spool(file);
    try {
      try {
        await new Transfer(download, deps, spool).run();
      } finally {
        await file.close(); // not flushed to the disk: no other process ever reads a spool
      }
      return { path: spoolFile, sha256: spool.digest(), bytes: spool.bytes };
    } catch (error) {
      await files.remove(spoolFile);
      throw signal.aborted ? signal.reason : error;
    }
  };
}

type Answer = Dispatcher.ResponseData;

class Transfer {
  private readonly download: Download;
  private readonly deps: DownloaderDeps;
  private readonly agent: Agent;
  private readonly spool: Spool;
  private etag: string | undefined;
  /** Furthest point reached: a server that starts over each time makes no progress. */
  private best = 0;
  private fruitless = 0;
  private notFound = 0;
  private throttled = 0;
  private sentHeaders = "";

  constructor(download: Download, deps: DownloaderDeps, spool: Spool) {
    this.download = download;
    this.deps = deps;
    this.spool = spool;
    const idle = download.idleTimeoutMs;
    this.agent = new Agent({ headersTimeout: idle, bodyTimeout: idle, connect: { timeout: idle, ...deps.tls } });
  }

  /** Returns when the spool is complete. */
  async run(): Promise<void> {
    try {
      while (!(await this.tryOnce()));
    } finally {
      await this.agent.destroy();
    }
  }

  /** True when the file is complete; false when another try is due (it has waited already). */
  private async tryOnce(): Promise<boolean> {
    let cause: unknown;
    try {
      const answer = await this.follow();
      const verdict = await this.take(answer);
      if (verdict !== "again") return verdict === "complete";
      cause = `answer ${answer.statusCode}`;
    } catch (error) {
      if (error instanceof StepError || isLocal(error)) throw error;
      this.download.signal.throwIfAborted();
      cause = error;
    }
    this.fruitless = this.spool.bytes > this.best ? 1 : this.fruitless + 1;
    this.best = Math.max(this.best, this.spool.bytes);
    const reason = reasonOf(cause);
    if (this.fruitless > MAX_FRUITLESS) throw new StepError("download", `the download was cut: ${reason}`, cause);
    this.deps.log.info({ bytes: this.spool.bytes, reason }, "the download was cut; it goes on from here");
    await this.wait(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.fruitless - 1)));
    return false;
  }

  /** The answer at the end of the redirects. Each hop is judged before it is asked. */
  private async follow(): Promise<Answer> {
    const { allowedUrlPrefixes } = this.download;
    let { url } = this.download;
    const first = judgeUrl(url, allowedUrlPrefixes);
    if (!first.allowed) throw new StepError("policy_refused", first.because);
    for (let hop = 1; ; hop++) {
      const answer = await this.ask(url);
      const location = answer.headers["location"];
      if (answer.statusCode < 300 || answer.statusCode > 399 || typeof location !== "string") return answer;
      await drop(answer);
      if (!URL.canParse(location, url)) throw new StepError("download", "a redirect leads to no URL");
      // a relative location is resolved first; a `..` in it must not hide in the resolution
      const target = /^[a-z][a-z0-9+.-]*:/i.test(location) ? location : new URL(location, url).href;
      const verdict = judgeRedirect(url, target, hop, allowedUrlPrefixes);
      if (!verdict.allowed) throw new StepError("policy_refused", verdict.because);
      url = target;
    }
  }

  private async ask(url: string): Promise<Answer> {
    const headers: Record<string, string> = { "accept-encoding": "identity" };
    // credentials of the offer stay with the origin they were made for
    const own = new URL(url).origin === new URL(this.download.url).origin ? this.download.headers() : [];
    for (const { key, value } of own) headers[key.toLowerCase()] = value;
    this.sentHeaders = JSON.stringify(own);
    if (this.spool.bytes > 0) {
      headers["range"] = `bytes=${this.spool.bytes}-`;
      if (this.etag !== undefined) headers["if-range"] = this.etag;
    }
    const { signal } = this.download;
    return await request(url, { method: "GET", headers, dispatcher: this.agent, signal });
  }

  private async take(answer: Answer): Promise<"complete" | "again" | "waited"> {
    const { statusCode, headers } = answer;
    if (statusCode === 200 || (statusCode === 206 && this.continues(headers["content-range"]))) {
      if (statusCode === 200) await this.spool.startOver();
      await this.receive(answer);
      return "complete";
    }
    await drop(answer);
    if (statusCode === 206) {
      await this.spool.startOver();
      return "again";
    }
    if (statusCode === 416) return await this.rangeRefused(headers["content-range"]);
    if (statusCode === 429 || statusCode === 503) return await this.putOff(statusCode, headers["retry-after"]);
    if (statusCode === 404) {
      if (++this.notFound >= MAX_NOT_FOUND)
        throw new StepError("download", "the server does not have the archive (404)");
      await this.wait(FIRST_WAIT_MS * 2 ** this.notFound);
      return "waited";
    }
    if ((statusCode === 401 || statusCode === 403) && JSON.stringify(this.download.headers()) !== this.sentHeaders)
      return "waited"; // a fresh token came while the old one was on its way
    if (statusCode >= 500) return "again";
    throw new StepError("download", `the server answers ${statusCode}`);
  }

  /** Whether a partial answer begins where we are. */
  private continues(range: string | string[] | undefined): boolean {
    return /^bytes (\d+)-/.exec(String(range))?.[1] === String(this.spool.bytes) && this.spool.bytes > 0;
  }

  private async receive(answer: Answer): Promise<void> {
    const { maxBytes, requireRoom } = this.download;
    // a body that is destroyed while it comes says so once more: the loop below, or its end, has told already
    answer.body.on("error", () => undefined);
    const etag = answer.headers["etag"];
    this.etag = typeof etag === "string" && !etag.startsWith("W/") ? etag : undefined;
    const length = Number(answer.headers["content-length"] ?? Number.NaN);
    const total = Number.isFinite(length) ? this.spool.bytes + length : undefined;
    try {
      if (total !== undefined && total > maxBytes) throw tooLarge(maxBytes);
      if (total !== undefined) await requireRoom?.({ archiveBytes: total, missingBytes: length });
      await this.takeAll(answer.body, total);
    } finally {
      answer.body.destroy();
      await this.spool.flush(); // what came counts, also when the rest did not
    }
    if (total !== undefined && this.spool.bytes < total) throw new Error("the body ended early");
  }

  /** What came before a cut counts, also what was not asked for yet. */
  private async takeAll(body: Answer["body"], total: number | undefined): Promise<void> {
    const { maxBytes, onProgress, signal } = this.download;
    const take = async (piece: Buffer): Promise<void> => {
      if (this.spool.bytes + piece.byteLength > maxBytes) throw tooLarge(maxBytes);
      await this.spool.take(piece);
      onProgress?.(this.spool.bytes, total);
    };
    try {
      for await (const piece of body as AsyncIterable<Buffer>) await take(piece);
    } catch (error) {
      const rest =
        error instanceof StepError || isLocal(error) || signal.aborted ? null : (body.read() as Buffer | null);
      if (rest !== null) await take(rest);
      throw error;
    }
  }

  /** 416: complete when the server's length is what we have, else its file is another one. */
  private async rangeRefused(range: string | string[] | undefined): Promise<"complete" | "again"> {
    if (/^bytes \*\/(\d+)$/.exec(String(range))?.[1] === String(this.spool.bytes)) return "complete";
    await this.spool.startOver();
    return "again";
  }

  private async putOff(statusCode: number, retryAfter: string | string[] | undefined): Promise<"waited"> {
    if (++this.throttled > MAX_THROTTLED)
      throw new StepError("download", `the server put us off too often (${statusCode})`);
    const text = String(retryAfter ?? "");
    const asked = /^\d+$/.test(text)
      ? Number(text) * 1_000
      : Date.parse(text) - Number(this.deps.clock.nowNanos() / 1_000_000n);
    const floor = Number.isFinite(asked) ? Math.max(0, asked) : FIRST_WAIT_MS * 2 ** Math.min(this.throttled, 6);
    await this.wait(Math.min(LONGEST_THROTTLE_MS, floor), 1);
    return "waited";
  }

  /** At least `ms`, spread over up to `spread` times more, so that many hosts do not come back in one second. */
  private async wait(ms: number, spread = 0.5): Promise<void> {
    const { clock } = this.deps;
    await clock.sleep(Math.round(ms * (1 + spread * clock.chance())), this.download.signal);
  }
}

const tooLarge = (maxBytes: number) => new StepError("download", `the archive is larger than ${maxBytes} bytes`);

/** A refused answer's body is not read on; reading a little lets the connection be used again. */
async function drop(answer: Answer): Promise<void> {
  await answer.body.dump({ limit: 64 * 1024 });
}

/** Trouble with our own disk is no reason to ask the server again. */
function isLocal(error: unknown): boolean {
  const { syscall, code } = error as NodeJS.ErrnoException;
  return (
    code === "ENOSPC" || code === "EDQUOT" || ["write", "open", "ftruncate", "fsync", "statfs"].includes(syscall ?? "")
  );
}

/** Code or kind only: messages of HTTP libraries may hold addresses and headers. */
function reasonOf(cause: unknown): string {
  if (typeof cause === "string") return cause;
  const { code, name } = cause as { code?: unknown; name?: unknown };
  if (cause instanceof Error && cause.message === "the body ended early") return cause.message;
  return typeof code === "string" ? code : typeof name === "string" ? name : "unknown reason";
}
