/**
 * The typed client of a depot's two listeners. Whatever goes wrong is a `Failure`: the node's own code, or
 * `depot_unreachable` when there was no proper answer. Nothing waits for ever: connecting and silence are bounded.
 */
import { type Readable, Transform } from "node:stream";
import { Agent, request, type Dispatcher } from "undici";
import type { z } from "zod";
import type { DepotConfig, Peers } from "../domain/depot/config.ts";
import { unpackCopies, type Copies } from "../domain/depot/copy-bits.ts";
import { nodeStatus, scrubStatus, type NodeStatus, type ScrubStatus } from "../domain/depot/node-status.ts";
import type { ScrubKind } from "../domain/depot/scrub-plan.ts";
import type { TransferClass } from "../domain/depot/token-bucket.ts";
import { ERRORS, Failure, failure, type DetailOf, type ErrorCode } from "../domain/errors.ts";
import * as wire from "./wire.ts";

export type DepotAddress = { controlUrl: string; readUrl: string };
export type DepotTokens = { control: string; read: string };
export type DepotClientOptions = {
  tokens: DepotTokens;
  /** Default 3 s. */
  connectTimeoutMs?: number;
  /** Longest silence of the node, in either direction. Default 10 s. */
  idleTimeoutMs?: number;
};
type Fence = { epoch: string; generation: number };
export type ReadAnswer = { size: number; offset: number; body: Readable };

export type ListOf = Omit<wire.DepotBits, "bits"> & { copies: Copies[] };

export type DepotClient = {
  /** The configuration that should be in effect. Sent by digest first, whole only when the node asks. */
  putConfig(config: DepotConfig, peers: Peers): Promise<void>;
  list(): Promise<wire.DepotList>;
  /** What it has of exactly this sorted set, in its order. Fails with `depot_set` when it keeps another. */
  listOf(artifacts: readonly string[]): Promise<ListOf>;
  /** `body` has the bytes from `offset` on, of which `size` is the whole. */
  put(sha256: string, fence: Fence, size: number, body: Readable, offset?: number): Promise<wire.PutAnswer>;
  /** Bytes that an earlier put, which was cut, left at the node: the next one may go on there. */
  partial(sha256: string): Promise<number>;
  /** Resolves once the source answered; the copy goes on as the job. */
  copyFromDepot(sha256: string, fence: Fence, depotBaseUrl: string): Promise<{ job: string }>;
  /** Ends a job: what came in so far is kept for the next one. Answers its state. */
  cancel(id: string): Promise<wire.Job>;
  /** A reader got wrong bytes of it: the node reads its copies again and puts wrong ones aside. */
  suspect(sha256: string): Promise<wire.Suspected>;
  /** The state of a job, waiting up to `waitMs` for its end. */
  job(id: string, waitMs: number, signal?: AbortSignal): Promise<wire.Job>;
  /** A person says that its files belong to this installation, and which held artifacts may go. */
  adopt(epoch: string, released?: readonly string[]): Promise<void>;
  /** Begins a scrub, or joins the one that runs. Answers how things stand. */
  scrub(kind: ScrubKind): Promise<ScrubStatus>;
  status(): Promise<NodeStatus>;
  /** Whether it is there. Never fails. */
  answers(): Promise<boolean>;
  /** Content from `offset`; the caller compares the digest of what it read. */
  read(sha256: string, offset?: number, signal?: AbortSignal): Promise<ReadAnswer>;
  close(): Promise<void>;
};

/** A client of the node at `address`. `close` ends its connections. */
export function createDepotClient({ controlUrl, readUrl }: DepotAddress, options: DepotClientOptions): DepotClient {
  const idleMs = options.idleTimeoutMs ?? 10_000;
  const dispatcher = agentOf(options);
  const base = controlUrl.replace(/\/+$/, "");
  const tell = async (path: string, init: Init): Promise<string> => {
    const url = base + path;
    const headers = bearer(options.tokens.control, init.headers);
    return readAll(url, await send(url, { dispatcher, ...init, headers }));
  };
  const control: Ask = async (path, schema, init) => parse(base + path, schema, await tell(path, init));
  return {
    putConfig: (config, peers) =>
      putConfig((body, init) => tell(wire.PATHS.config, { ...json("PUT", body), ...init }), config, peers),
    list: () => control(wire.PATHS.list, wire.listAnswer, { method: "GET" }),
    listOf: (artifacts) => listOf(base, control, artifacts),
    partial: async (sha256) => (await control(wire.PATHS.partial(sha256), wire.partialAnswer, { method: "GET" })).bytes,
    put: (sha256, fence, size, body, offset = 0) =>
      withIdleAbort(idleMs, body, (guarded, signal) =>
        control(`${wire.PATHS.put(sha256)}?generation=${fence.generation}&offset=${offset}`, wire.putAnswer, {
          method: "PUT",
          body: guarded,
          signal,
          headersTimeout: 3 * idleMs,
          headers: {
            ...fenced(fence),
            "content-type": "application/octet-stream",
            "content-length": String(size - offset),
          },
        }),
      ),
    copyFromDepot: (sha256, fence, depotBaseUrl) =>
      control(`${wire.PATHS.copy(sha256)}?generation=${fence.generation}`, wire.copyAnswer, {
        ...json("POST", { depot_base_url: depotBaseUrl }, fenced(fence)),
        headersTimeout: 2 * idleMs,
      }),
    cancel: (id) => control(wire.PATHS.job(id), wire.jobAnswer, { method: "DELETE" }),
    suspect: (sha256) =>
      control(wire.PATHS.suspect(sha256), wire.suspectAnswer, { method: "POST", headersTimeout: SUSPECT_MS }),
    job: (id, waitMs, signal) =>
      control(`${wire.PATHS.job(id)}?wait_ms=${waitMs}`, wire.jobAnswer, {
        method: "GET",
        headersTimeout: waitMs + idleMs,
        ...(signal && { signal }),
      }),
    adopt: async (epoch, released = []) => {
      await tell(wire.PATHS.adopt, json("POST", { epoch, ...(released.length > 0 && { released }) }));
    },
    scrub: (kind) => control(wire.PATHS.scrub, scrubStatus, json("POST", { kind })),
    status: () => control(wire.PATHS.status, nodeStatus, { method: "GET" }),
    answers: () =>
      tell(wire.PATHS.health, { method: "GET" }).then(
        () => true,
        () => false,
      ),
    read: (sha256, offset = 0, signal) =>
      readContent(dispatcher, { token: options.tokens.read }, readUrl, sha256, offset, signal),
    close: () => dispatcher.close(),
  };
}

export type DepotReader = {
  /** Content from `offset` of the node whose read listener is at `readUrl`. */
  read(readUrl: string, sha256: string, offset: number, signal?: AbortSignal): Promise<ReadAnswer>;
  close(): Promise<void>;
};

/** The depot read call alone, for any node: what depots use among themselves and the server for downloads. */
export function createDepotReader(options: {
  token: string;
  /** For whom: hosts that wait go first, which is `install`. Default `replicate`. */
  transferClass?: TransferClass;
  connectTimeoutMs?: number;
  idleTimeoutMs?: number;
}): DepotReader {
  const dispatcher = agentOf(options);
  return {
    read: (readUrl, sha256, offset, signal) => readContent(dispatcher, options, readUrl, sha256, offset, signal),
    close: () => dispatcher.close(),
  };
}

const agentOf = ({
  connectTimeoutMs = 3_000,
  idleTimeoutMs = 10_000,
}: {
  connectTimeoutMs?: number;
  idleTimeoutMs?: number;
}) =>
  new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: idleTimeoutMs,
    bodyTimeout: idleTimeoutMs,
    keepAliveTimeout: 5_000,
  });

function readContent(
  dispatcher: Agent,
  { token, transferClass }: { token: string; transferClass?: TransferClass },
  readUrl: string,
  sha256: string,
  offset: number,
  signal: AbortSignal | undefined,
): Promise<ReadAnswer> {
  const headers = bearer(token, {
    ...(offset > 0 && { range: `bytes=${offset}-`, "if-match": `"${sha256}"` }),
    ...(transferClass && { [wire.CLASS_HEADER]: transferClass }),
  });
  const url = readUrl.replace(/\/+$/, "") + wire.PATHS.read(sha256);
  return readFrom(url, { dispatcher, method: "GET", headers, ...(signal && { signal }) }, offset);
}

type Headers = Record<string, string>;
type Init = {
  method: Dispatcher.HttpMethod;
  body?: string | Readable;
  headers?: Headers;
  signal?: AbortSignal;
  headersTimeout?: number;
  dispatcher?: Dispatcher;
};

const json = (method: Dispatcher.HttpMethod, value: unknown, headers: Headers = {}): Init => ({
  method,
  body: JSON.stringify(value),
  headers: { ...headers, "content-type": "application/json" },
});
const bearer = (token: string, headers: Headers = {}): Headers => ({ ...headers, authorization: `Bearer ${token}` });
const fenced = ({ epoch }: Fence): Headers => ({ [wire.EPOCH_HEADER]: epoch });

type Ask = <S extends z.ZodType>(path: string, schema: S, init: Init) => Promise<z.infer<S>>;

async function listOf(base: string, ask: Ask, artifacts: readonly string[]): Promise<ListOf> {
  const path = `${wire.PATHS.list}?format=bitmap&digest=${wire.setDigest(artifacts)}`;
  const { bits, ...said } = await ask(path, wire.bitsAnswer, { method: "GET" });
  const copies = unpackCopies(Buffer.from(bits, "base64"), artifacts.length);
  if (copies !== undefined) return { ...said, copies };
  throw unreachable(base, new Error(`its bits are not about ${artifacts.length} artifacts`));
}

/** As long as reading some gigabytes takes. */
const SUSPECT_MS = 120_000;
/** A node confirms from memory: one that does not is away, and costs whoever waits for it no more than this. */
const CONFIRM_MS = 4_000;

async function putConfig(
  put: (body: unknown, init?: { signal: AbortSignal }) => Promise<string>,
  config: DepotConfig,
  peers: Peers,
): Promise<void> {
  const { epoch, generation, artifacts, sizes, held, released } = config;
  const heldDigest = held && { heldDigest: wire.setDigest(held) };
  try {
    const signal = AbortSignal.timeout(CONFIRM_MS);
    await put({ epoch, generation, digest: wire.setDigest(artifacts), peers, ...heldDigest }, { signal });
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "depot_config_needed") throw error;
    const holds = { ...(held && { held }), ...(released && { released }) };
    await put({ epoch, generation, artifacts, ...(sizes && { sizes }), peers, ...holds });
  }
}

async function send(url: string, init: Init): Promise<Dispatcher.ResponseData> {
  let answer: Dispatcher.ResponseData;
  try {
    answer = await request(url, init);
  } catch (error) {
    throw unreachable(url, error);
  }
  if (answer.statusCode < 400) return answer;
  throw problemOf(url, answer.statusCode, await readAll(url, answer));
}

async function readFrom(url: string, init: Init, offset: number): Promise<ReadAnswer> {
  const answer = await send(url, init);
  answer.body.on("error", () => undefined); // whoever reads hears of it; ending it early must not end the process
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(String(answer.headers["content-range"] ?? ""));
  const whole = Number(answer.headers["content-length"] ?? Number.NaN);
  const size = answer.statusCode === 206 ? Number(range?.[2]) : whole;
  const start = answer.statusCode === 206 ? Number(range?.[1]) : 0;
  if (Number.isSafeInteger(size) && start === offset) return { size, offset, body: answer.body };
  answer.body.destroy();
  throw unreachable(url, new Error(`it answered ${answer.statusCode} without the range that was asked for`));
}

async function readAll(url: string, answer: Dispatcher.ResponseData): Promise<string> {
  try {
    return await answer.body.text();
  } catch (error) {
    throw unreachable(url, error);
  }
}

function parse<S extends z.ZodType>(url: string, schema: S, text: string): z.infer<S> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw unreachable(url, error);
  }
}

function problemOf(url: string, status: number, text: string): Failure {
  try {
    const { code, detail } = wire.problemAnswer.parse(JSON.parse(text));
    if (Object.hasOwn(ERRORS, code)) return new Failure(code as ErrorCode, detail as DetailOf<ErrorCode>);
  } catch (error) {
    return unreachable(url, new Error(`status ${status} without a problem document`, { cause: error }));
  }
  return unreachable(url, new Error(`status ${status} with an unknown code`));
}

const unreachable = (url: string, error: unknown): Failure =>
  failure("depot_unreachable", { url: new URL(url).origin, message: messageOf(error) }, error);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Sends `body` through a stream that aborts the request when nothing moved for `idleMs`. */
async function withIdleAbort<T>(
  idleMs: number,
  body: Readable,
  work: (guarded: Readable, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const arm = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => stop.abort(new Error(`nothing was taken for ${idleMs} ms`)), idleMs);
  };
  const guarded = new Transform({
    transform: (chunk, _, done) => {
      arm();
      done(null, chunk);
    },
    flush: (done) => {
      clearTimeout(timer); // from here on the headers timeout counts
      done();
    },
  });
  body.on("error", (error) => guarded.destroy(error));
  body.pipe(guarded);
  arm();
  try {
    return await work(guarded, stop.signal);
  } finally {
    clearTimeout(timer);
    body.destroy();
    guarded.destroy();
  }
}
