/** The API as myrctl uses it: typed by the same schemas that the server answers with, errors with their code. */
import type { z } from "zod";
import { problem, type Problem } from "../domain/rest/problem.ts";
import type { Connection } from "./connection.ts";

/** The server refused: the problem says why. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly problem: Problem;
  constructor(it: Problem) {
    super(it.detail);
    this.problem = it;
  }
}
/** No answer, or none of ours. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

type Query = Record<string, string | number | boolean | undefined>;
type Call = { query?: Query; body?: unknown; idempotencyKey?: string };
/** Bytes that are sent as they are; `timeoutMs` for all of them. */
type BytesCall = { query?: Query; bytes: Uint8Array<ArrayBuffer>; timeoutMs: number };
export type Client = {
  get: <S extends z.ZodType>(path: string, schema: S, query?: Query) => Promise<z.output<S>>;
  send: <S extends z.ZodType>(method: "POST" | "DELETE", path: string, schema: S, call?: Call) => Promise<z.output<S>>;
  put: <S extends z.ZodType>(path: string, schema: S, call: BytesCall) => Promise<z.output<S>>;
};

const TIMEOUT_MS = 30_000;

/** Paths are below `/api/v1`. Throws `ApiProblem` or `NoAnswer`. */
export function createClient(connection: Connection, timeoutMs = TIMEOUT_MS): Client {
  const call = async <S extends z.ZodType>(
    method: string,
    path: string,
    schema: S,
    options: Call & Partial<BytesCall>,
  ): Promise<z.output<S>> => {
    const url = new URL(`${connection.server}/api/v1${path}`);
    for (const [key, value] of Object.entries(options.query ?? {}))
      if (value !== undefined) url.searchParams.set(key, String(value));
    const answer = await ask(url, {
      method,
      headers: {
        authorization: `Bearer ${connection.token}`,
        accept: "application/json",
        ...(options.body !== undefined && { "content-type": "application/json" }),
        ...(options.bytes !== undefined && { "content-type": "application/octet-stream" }),
        ...(options.idempotencyKey !== undefined && { "idempotency-key": options.idempotencyKey }),
      },
      ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
      ...(options.bytes !== undefined && { body: options.bytes }),
      // a credential follows no redirect
      redirect: "error",
      signal: AbortSignal.timeout(options.timeoutMs ?? timeoutMs),
    });
    return read(url, answer, schema);
  };
  return {
    get: (path, schema, query = {}) => call("GET", path, schema, { query }),
    send: (method, path, schema, options = {}) => call(method, path, schema, options),
    put: (path, schema, options) => call("PUT", path, schema, options),
  };
}

async function ask(url: URL, init: RequestInit): Promise<{ status: number; text: string }> {
  try {
    const answer = await fetch(url, init);
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new NoAnswer(`${url.origin} does not answer: ${cause}`, { cause: error });
  }
}

function read<S extends z.ZodType>(
  url: URL,
  { status, text }: { status: number; text: string },
  schema: S,
): z.output<S> {
  const strange = `${url.origin} answered ${status} with something that is not of this API; is it a Myriarch server of this version?`;
  let body: unknown;
  try {
    body = text === "" ? null : JSON.parse(text);
  } catch (error) {
    throw new NoAnswer(strange, { cause: error });
  }
  if (status >= 400) {
    const refused = problem.safeParse(body);
    if (refused.success) throw new ApiProblem(refused.data);
    throw new NoAnswer(strange);
  }
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw new NoAnswer(strange, { cause: parsed.error });
  return parsed.data;
}

/** Every page of a list, up to `max` rows. */
export async function everyPage<T>(
  read: (cursor: string | undefined) => Promise<{ items: T[]; next: string | null }>,
  max: number,
): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | undefined;
  do {
    const { items, next } = await read(cursor);
    rows.push(...items);
    cursor = next ?? undefined;
  } while (cursor !== undefined && rows.length < max);
  return rows.slice(0, max);
}
