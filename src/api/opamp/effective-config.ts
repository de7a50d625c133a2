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

/** Errors and aliases of a hostile report end here: it is not readable then. */
function readMap(text: string): Record<string, unknown> | undefined {
  const document = parseDocument(text, { logLevel: "silent", uniqueKeys: false });
  if (document.errors.length > 0) return undefined;
  try {
    const data: unknown = document.toJS({ maxAliasCount: 100 });
    return isMap(data) ? data : undefined;
  } catch {
    // Too many aliases: it would grow without bound.
    return undefined;
  }
}

function mergeMaps(under: Record<string, unknown>, over: Record<string, unknown>): Record<string, unknown> {
  const merged = Object.entries(over).map(([key, value]): [string, unknown] => {
    const below = Object.hasOwn(under, key) ? under[key] : undefined;
    return [key, isMap(below) && isMap(value) ? mergeMaps(below, value) : value];
  });
  return { ...under, ...Object.fromEntries(merged) };
}
