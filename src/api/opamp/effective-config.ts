/** A sealed effective configuration as data. Nothing of it is logged or kept: it holds secrets of hosts in clear. */
import { parseDocument } from "yaml";
import { z } from "zod";
import { isMap } from "../../domain/agents/config-compare.ts";
import type { Seal } from "./seal.ts";

const files = z.array(z.object({ name: z.string(), body: z.string() }));

export type Effective = {
  /** Every file by its name; undefined: no YAML map. */
  files: { name: string; data: Record<string, unknown> | undefined }[];
  /** All of them as one configuration; undefined when one cannot be read. */
  merged: Record<string, unknown> | undefined;
};

/** Undefined when it was sealed with a key that is not there any more. */
export function readEffective(seal: Seal, sealed: Buffer): Effective | undefined {
  const plain = seal.open(sealed);
  if (plain === undefined) return undefined;
  // The empty name is the last one to count (design/opamp, 3.5).
  const sorted = files
    .parse(JSON.parse(plain.toString("utf8")))
    .toSorted((a, b) => (a.name === "" ? 1 : b.name === "" ? -1 : a.name < b.name ? -1 : 1))
    .map(({ name, body }) => ({ name, data: readMap(body) }));
  const readable = sorted.every(({ data }) => data !== undefined);
  const merged = readable
    ? sorted.reduce<Record<string, unknown>>((all, { data }) => mergeMaps(all, data ?? {}), {})
    : undefined;
  return { files: sorted, merged };
}

/** A report of a small pipeline has 4 KiB. Reading YAML keeps the thread busy: much larger ones are not read. */
const MAX_READ_CHARS = 256 * 1024;
const MAX_DEPTH = 200;
/** Indentation, dashes and question marks in front of a line's content: as many levels at most. */
const MAX_LINE_HEAD = 1_000;

/** Undefined for what is no map, is broken, or was made to be expensive. */
function readMap(text: string): Record<string, unknown> | undefined {
  if (text.length > MAX_READ_CHARS || looksDeep(text)) return undefined;
  try {
    const document = parseDocument(text, { logLevel: "silent", uniqueKeys: false });
    if (document.errors.length > 0) return undefined;
    const data: unknown = document.toJS({ maxAliasCount: 100 });
    return isMap(data) && !isTooDeep(data) ? data : undefined;
  } catch {
    // Too many aliases, or nested beyond what the reader can follow: a hostile report is not readable.
    return undefined;
  }
}

/** Nested so deeply that reading it would take the reader's stack, or its time, which grows with the square. */
function looksDeep(text: string): boolean {
  let depth = 0;
  for (const char of text) {
    if (char === "[" || char === "{") depth++;
    else if ((char === "]" || char === "}") && depth > 0) depth--;
    if (depth > MAX_DEPTH) return true;
  }
  return text.split("\n").some((line) => (/^[\s?:-]*/.exec(line)?.[0].length ?? 0) > MAX_LINE_HEAD);
}

function isTooDeep(data: unknown): boolean {
  let level: unknown[] = [data];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((value) =>
      Array.isArray(value) ? (value as unknown[]) : isMap(value) ? Object.values(value) : [],
    );
  }
  return false;
}

function mergeMaps(under: Record<string, unknown>, over: Record<string, unknown>): Record<string, unknown> {
  const merged = Object.entries(over).map(([key, value]): [string, unknown] => {
    const below = Object.hasOwn(under, key) ? under[key] : undefined;
    return [key, isMap(below) && isMap(value) ? mergeMaps(below, value) : value];
  });
  return { ...under, ...Object.fromEntries(merged) };
}
