/** A revision while it is checked: the objects that stand for themselves, and the names of those that do not. */
import { closest } from "../config/closest.ts";
import type { Issue } from "./issue-codes.ts";
import type { Kind, ObjectOf } from "./kinds.ts";
import { issueAt, type Located, type Source } from "./read-objects.ts";
import type { Finding } from "./schema-issues.ts";
import type { Objects } from "./snapshot.ts";

export type Revision = Objects & {
  located: readonly Located[];
  /** `<kind>/<name>` of everything that is declared, also by objects that are invalid: no issue twice. */
  declared: ReadonlySet<string>;
};
export type LocatedOf<K extends Kind> = Source & { object: ObjectOf<K> };

export const locatedOf = <K extends Kind>(revision: Revision, kind: K): LocatedOf<K>[] =>
  revision.located.filter((located): located is LocatedOf<K> & Located => located.object.kind === kind);

export const locate = (revision: Revision, kind: Kind, name: string): Located | undefined =>
  revision.located.find(({ object }) => object.kind === kind && object.name === name);

/** An issue of `path` in a located object. */
export const report = (source: Source, finding: Finding): Issue => issueAt(source, finding);

/** "Did you mean", among the names of one kind. */
export function hintFor(revision: Revision, kind: Kind, name: string): { hint?: string } {
  const prefix = `${kind}/`;
  const known = [...revision.declared].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  const near = closest(name, known);
  return near === undefined ? {} : { hint: `did you mean ${near}?` };
}
