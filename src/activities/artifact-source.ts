/**
 * Reading a release mirror over https, http or from a folder (`file:`). Redirects: at most five, to https (or from http
 * to http), never with credentials, never to a private address unless the source itself is one. No answer is trusted:
 * what is read is verified afterwards.
 */
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { isIP } from "node:net";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { Agent, request, type Dispatcher } from "undici";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { failure, isFailure } from "../domain/errors.ts";
import { isPrivateAddress, isPrivateHost, publicLookup } from "./private-address.ts";

export type OpenedSource = {
  /** Where the body begins: the offset asked for, or 0 when the source does not resume. */
  offset: number;
  /** Of the whole file, when the source says it. */
  size: number | undefined;
  /** Says whether the content is still the same when it is opened again. */
  validator: string | undefined;
  body: Readable;
};
export type ArtifactSource = {
  /** A small file; undefined when it does not exist. */
  readSmall(url: string, maxBytes: number, signal?: AbortSignal): Promise<Buffer | undefined>;
  /** Opens at `offset` if the content still has this validator, else from the start; undefined: it does not exist. */
  open(
    url: string,
    resume?: { offset: number; validator: string },
    signal?: AbortSignal,
  ): Promise<OpenedSource | undefined>;
  close(): Promise<void>;
};
type Options = { idleTimeoutMs?: number };
export type Dispatchers = { guarded: Agent; trusting: Agent };

export function createArtifactSource({
  idleTimeoutMs = CONTRACT_DEFAULTS.idleTimeoutMs,
}: Options = {}): ArtifactSource {
  const common = { headersTimeout: idleTimeoutMs, bodyTimeout: idleTimeoutMs };
  const connect = { timeout: 15_000 };
  const agents: Dispatchers = {
    guarded: new Agent({ ...common, connect: { ...connect, lookup: publicLookup } }),
    trusting: new Agent({ ...common, connect }),
  };
  const openAny: ArtifactSource["open"] = (url, resume, signal) =>
    url.startsWith("file:") ? openFile(url, resume) : openHttp(agents, url, resume, signal);
  return {
    open: openAny,
    readSmall: async (url, maxBytes, signal) => {
      const opened = await openAny(url, undefined, signal);
      if (opened === undefined) return undefined;
      const pieces: Buffer[] = [];
      let size = 0;
      try {
        for await (const piece of opened.body as AsyncIterable<Buffer>) {
          size += piece.length;
          if (size > maxBytes) throw failure("artifact_too_large", { maxBytes });
          pieces.push(piece);
        }
      } catch (error) {
        throw isFailure(error) ? error : unreachable(url, error);
      }
      return Buffer.concat(pieces);
    },
    close: async () => {
      await Promise.all([agents.guarded.close(), agents.trusting.close()]);
    },
  };
}

async function openFile(
  url: string,
  resume?: { offset: number; validator: string },
): Promise<OpenedSource | undefined> {
  try {
    const handle = await open(fileURLToPath(url), "r");
    const { size, mtimeMs } = await handle.stat();
    await handle.close();
    const validator = `${size}-${mtimeMs}`;
    const offset = resume !== undefined && resume.validator === validator ? Math.min(resume.offset, size) : 0;
    return { offset, size, validator, body: createReadStream(fileURLToPath(url), { start: offset }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unreachable(url, error);
  }
}

async function openHttp(
  agents: Dispatchers,
  source: string,
  resume: { offset: number; validator: string } | undefined,
  signal: AbortSignal | undefined,
): Promise<OpenedSource | undefined> {
  const asked = resume !== undefined && resume.offset > 0 ? resume : undefined;
  const headers = asked ? { range: `bytes=${asked.offset}-`, "if-range": asked.validator } : {};
  const answer = await follow(agents, source, headers, signal);
  const discard = (): void => void answer.body.dump({ limit: 65_536 }).catch(() => answer.body.destroy());
  if (answer.statusCode === 404 || answer.statusCode === 410) {
    discard();
    return undefined;
  }
  if (answer.statusCode === 416 && asked !== undefined) {
    discard();
    // complete already, or not what it was: the whole again says which
    return openHttp(agents, source, undefined, signal);
  }
  if (answer.statusCode !== 200 && answer.statusCode !== 206) {
    discard();
    throw unreachable(source, new Error(`it answered ${answer.statusCode}`));
  }
  return describe(answer, asked?.offset ?? 0, source);
}

function describe(answer: Dispatcher.ResponseData, asked: number, source: string): OpenedSource {
  const header = (name: string): string | undefined => {
    const value = answer.headers[name];
    return typeof value === "string" ? value : undefined;
  };
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(header("content-range") ?? "");
  const length = header("content-length");
  if (answer.statusCode === 206 && Number(range?.[1]) !== asked) {
    answer.body.destroy();
    throw unreachable(source, new Error("it answered another range than was asked for"));
  }
  const etag = header("etag");
  return {
    offset: answer.statusCode === 206 ? asked : 0,
    size: answer.statusCode === 206 ? Number(range?.[2]) : length === undefined ? undefined : Number(length),
    // a weak ETag does not promise the same bytes
    validator: etag !== undefined && !etag.startsWith("W/") ? etag : header("last-modified"),
    body: answer.body,
  };
}

/** One request and its redirects: the answer of the last. Fails with `artifact_unreachable` or `artifact_redirect_refused`. */
export async function follow(
  { guarded, trusting }: Dispatchers,
  source: string,
  headers: Record<string, string>,
  signal: AbortSignal | undefined,
): Promise<Dispatcher.ResponseData> {
  try {
    const trusted = await isPrivateHost(new URL(source).hostname);
    let url = new URL(source);
    for (let hops = 0; ; hops++) {
      const dispatcher = trusted ? trusting : guarded;
      const answer = await request(url, { dispatcher, headers, ...(signal && { signal }) });
      answer.body.on("error", () => undefined); // whoever reads hears of it; ending it early must not end the process
      const location = answer.headers["location"];
      if (answer.statusCode < 301 || answer.statusCode > 308 || typeof location !== "string") return answer;
      answer.body.destroy();
      url = nextHop(url, location, trusted, hops + 1);
    }
  } catch (error) {
    const known = isFailure(error) ? error : isFailure((error as Error).cause) ? (error as Error).cause : undefined;
    throw known ?? unreachable(source, error);
  }
}

function nextHop(from: URL, location: string, trusted: boolean, hop: number): URL {
  const to = URL.parse(location, from.href);
  const refused = (because: string) => failure("artifact_redirect_refused", { url: withoutQuery(location), because });
  if (hop > CONTRACT_DEFAULTS.maxRedirects) throw refused(`it is redirect ${hop}`);
  if (to === null) throw refused("it is no URL");
  if (to.protocol !== "https:" && !(to.protocol === "http:" && from.protocol === "http:"))
    throw refused("it does not lead to https");
  if (to.username !== "" || to.password !== "") throw refused("it carries credentials");
  const host = to.hostname.replace(/^\[|\]$/g, "");
  if (!trusted && isIP(host) !== 0 && isPrivateAddress(host)) throw refused("its address is private");
  return to;
}

/** Signed URLs carry secrets in their query. */
const withoutQuery = (url: string): string => url.replace(/[?#].*$/s, "");

export const unreachable = (url: string, error: unknown) =>
  failure(
    "artifact_unreachable",
    { url: withoutQuery(url), message: error instanceof Error ? error.message || error.name : String(error) },
    error,
  );
