import { expect, test } from "vitest";
import { explainNode, EXECUTION_EVERY_MS, type MissingCopy, type NodeFacts } from "./explain-node.ts";

const COPY: MissingCopy = {
  sha256: "ab",
  names: ["otelcol 0.162.0 linux_amd64"],
  bytes: 100,
  disks: 0,
  elsewhere: 2,
  staged: 0,
  work: null,
};
const facts = (it: Partial<NodeFacts>, copy: Partial<MissingCopy> = {}): NodeFacts => ({
  nodeId: "depot-1",
  state: "active",
  answering: true,
  answeredAtMs: 0,
  unansweredSinceMs: null,
  error: null,
  freeBytes: 1_000,
  lacks: 1,
  missing: [{ ...COPY, ...copy }],
  execution: { running: false, endedAtMs: 1_000 },
  ...it,
});
const away = { answering: false, error: "depot_unreachable: gone", unansweredSinceMs: 5 };

test.each<[string, NodeFacts, RegExp, RegExp, RegExp]>([
  [
    "simply not there yet",
    facts({}),
    /^depot-1 answers and lacks 1 artifact$/,
    /^it is not there$/,
    new RegExp(`at T${1_000 + EXECUTION_EVERY_MS} at the latest`),
  ],
  [
    "on its way",
    facts({ execution: { running: true, endedAtMs: null } }, { work: { state: "pending", tries: 0, error: null } }),
    /lacks 1/,
    /not there/,
    /being transferred now/,
  ],
  [
    "failed",
    facts({}, { work: { state: "failed", tries: 3, error: "it ended short" } }),
    /lacks 1/,
    /failed after 3 tries: it ended short/,
    /next execution/,
  ],
  ["no room", facts({ freeBytes: 99 }), /lacks 1/, /no room for it/, /make room/],
  ["nobody has it", facts({}, { elsewhere: 0 }), /lacks 1/, /nobody within reach has it/, /fetched again|upload again/],
  ["one disk of two", facts({}, { disks: 1 }), /lacks 1/, /on 1 of its disks only/, /from its other disk by itself/],
  ["it is away", facts(away), /does not answer since T5 \(depot_unreachable: gone\)/, /not there/, /when it answers/],
  [
    "it drains",
    facts({ state: "draining" }),
    /drains: it serves on, gets nothing new, and lacks 1/,
    /not there/,
    /nothing: a node that drains/,
  ],
])("%s", (_, node, says, why, next) => {
  const it = explainNode(node, (ms) => `T${ms}`);
  expect(it.says).toMatch(says);
  expect(it.copies[0]?.why).toMatch(why);
  expect(it.copies[0]?.next).toMatch(next);
});

test("who was never asked, and who lacks nothing", () => {
  const time = (): string => "";
  expect(explainNode(facts({ answering: false, answeredAtMs: null }), time).says).toBe("depot-1 was not asked yet");
  expect(explainNode(facts({ lacks: 0, missing: [] }), time)).toEqual({
    says: "depot-1 answers and lacks nothing",
    copies: [],
  });
});
