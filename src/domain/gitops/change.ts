/** What a new snapshot changes: an object is its kind and name, wherever its file lies (decisions, Git). */
import type { GitObject } from "./kinds.ts";
import { canonicalJson, compareText } from "./plain.ts";

/** `<Kind>/<name>`, sorted. */
export type Change = { added: string[]; changed: string[]; removed: string[] };

export function compareObjects(before: readonly GitObject[], after: readonly GitObject[]): Change {
  const [was, is] = [contentsOf(before), contentsOf(after)];
  return {
    added: [...is.keys()].filter((key) => !was.has(key)).toSorted(compareText),
    changed: [...is]
      .filter(([key, text]) => was.has(key) && was.get(key) !== text)
      .map(([key]) => key)
      .toSorted(compareText),
    removed: [...was.keys()].filter((key) => !is.has(key)).toSorted(compareText),
  };
}

/** Moving an object to another file or line is no change. */
const contentsOf = (objects: readonly GitObject[]): Map<string, string> =>
  new Map(objects.map(({ kind, name, metadata, spec }) => [`${kind}/${name}`, canonicalJson({ metadata, spec })]));
