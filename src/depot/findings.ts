/**
 * What a node found wrong on its disks and what it mended from a sibling: the newest few, for the server and for people.
 * `life` is new with each process, so that whoever read some of them knows which count continues.
 */
import { randomUUID } from "node:crypto";
import type { Finding, FindingKind, FindingsMark } from "../domain/depot/node-status.ts";

export type Findings = {
  note(kind: FindingKind, sha256: string, disk: string): void;
  /** How far it is: told with each list, so that nobody asks for more when there is nothing new. */
  mark(): FindingsMark;
  /** Oldest first. */
  recent(): Finding[];
};

const KEPT = 100;

export function createFindings(nowMs: () => number): Findings {
  const life = randomUUID();
  const kept: Finding[] = [];
  let count = 0;
  return {
    note: (kind, sha256, disk) => {
      count++;
      kept.push({ n: count, at: new Date(nowMs()).toISOString(), kind, sha256, disk });
      if (kept.length > KEPT) kept.shift();
    },
    mark: () => ({ life, count }),
    recent: () => [...kept],
  };
}
