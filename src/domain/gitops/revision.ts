/** A revision while it is checked: the objects that stand for themselves, and the names of those that do not. */
import { closest } from "../config/closest.ts";
import type { Issue } from "./issue-codes.ts";
import type { Kind, ObjectOf } from "./kinds.ts";
import { issueAt, type Located, type Source } from "./read-objects.ts";
import type { Finding } from "./schema-issues.ts";
import type { Objects } from "./snapshot.ts";

export type Revision = Objects & {
  located: readonly Located[];
  byKind: ReadonlyMap<string, readonly Located[]>;
  byName: ReadonlyMap<string, Located>;
  /** `<kind>/<name>` of everything that is declared, also by objects that are invalid: no issue twice. */
  declared: ReadonlySet<string>;
};
export type LocatedOf<K extends Kind> = Source & { object: ObjectOf<K> };

/** The revision of what was read; of two objects with one kind and name the first counts. */
export function createRevision(located: readonly Located[], sources: readonly Source[]): Revision {
  const byKind = new Map<string, Located[]>();
  const byName = new Map<string, Located>();
  for (const it of located) {
    const { kind, name } = it.object;
    const same = byKind.get(kind);
    if (same === undefined) byKind.set(kind, [it]);
    else same.push(it);
    const key = `${kind}/${name}`;
    if (!byName.has(key)) byName.set(key, it);
  }
  const names = sources.flatMap(({ kind, name }) => (name === undefined ? [] : [`${kind}/${name}`]));
  return { objects: located.map(({ object }) => object), located, byKind, byName, declared: new Set(names) };
}

export const locatedOf = <K extends Kind>(revision: Revision, kind: K): LocatedOf<K>[] =>
  (revision.byKind.get(kind) ?? []).filter(
    (located): located is LocatedOf<K> & Located => located.object.kind === kind,
  );

export const locate = (revision: Revision, kind: Kind, name: string): Located | undefined =>
  revision.byName.get(`${kind}/${name}`);

/** An issue of `path` in a located object. */
export const report = (source: Source, finding: Finding): Issue => issueAt(source, finding);

/** "Did you mean", among the names of one kind. */
export function hintFor(revision: Revision, kind: Kind, name: string): { hint?: string } {
  const prefix = `${kind}/`;
  const known = [...revision.declared].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  const near = closest(name, known);
  return near === undefined ? {} : { hint: `did you mean ${near}?` };
}
