/** What an operator reads: whole screens, kept as files. */
import { expect, test } from "vitest";
import type { z } from "zod";
import type { artifact } from "../domain/rest/artifact.ts";
import type { depot, depotList, replicationHistory } from "../domain/rest/depot.ts";
import type { retentionList } from "../domain/rest/retention.ts";
import { artifactsText, artifactText, historyText, matrixText, retentionText } from "./artifact-text.ts";
import { depotsText, explanationText } from "./depot-text.ts";

const GIB = 1024 ** 3;
const golden = (name: string, text: string) => expect(`${text}\n`).toMatchFileSnapshot(`golden/${name}.txt`);

type Depot = z.output<typeof depot>;
const DEPOT: Depot = {
  nodeId: "depot-1",
  zone: "a",
  controlUrl: "http://depot-1:7701",
  readUrl: "http://depot-1:7702",
  state: "active",
  drain: null,
  answering: true,
  answeredAt: "2026-11-29T02:14:07.123Z",
  unansweredSince: null,
  error: null,
  generation: 7,
  disks: [
    { path: "/srv/a", state: "ok", freeBytes: 40 * GIB },
    { path: "/srv/b", state: "ok", freeBytes: 41 * GIB },
  ],
  copies: 12,
  have: 12,
  whole: 12,
  want: 12,
  capacity: { freeBytes: 40 * GIB, missingBytes: 0, freeAfterBytes: 40 * GIB, releasesLeft: 33 },
};
type List = z.output<typeof depotList>;
const EXECUTION: List["executions"][number] = {
  id: "e9",
  cause: "watchdog",
  generation: 7,
  state: "ended",
  startedAt: "2026-11-29T02:14:06.000Z",
  finishedAt: "2026-11-29T02:14:07.500Z",
  result: { puts: 0, copies: 0, bytes: 0, failed: 0, lost: 0, released: 0, skipped: [] },
};
const LIST: List = {
  generation: 7,
  wanted: 12,
  minCopies: 3,
  items: [DEPOT, { ...DEPOT, nodeId: "depot-2", zone: "b" }, { ...DEPOT, nodeId: "depot-3", zone: "c" }],
  running: null,
  executions: [EXECUTION],
};

test("depots status: all is well", () => golden("depots-well", depotsText(LIST)));
test("depots status: one is away, one lacks, one drains, transfers run", () => {
  const items: Depot[] = [
    {
      ...DEPOT,
      disks: [
        { path: "/srv/a", state: "ok", freeBytes: GIB },
        { path: "/srv/b", state: "EIO on write", freeBytes: null },
      ],
      whole: 8,
      have: 9,
      capacity: { freeBytes: GIB, missingBytes: 2 * GIB, freeAfterBytes: -GIB, releasesLeft: 0 },
    },
    {
      ...DEPOT,
      nodeId: "depot-2",
      answering: false,
      unansweredSince: "2026-11-29T01:00:00Z",
      error: "depot_unreachable: the depot at http://depot-2:7701 does not answer: connect ECONNREFUSED",
    },
    { ...DEPOT, nodeId: "depot-3", state: "draining", drain: { by: "kim", reason: "old", at: "2026-11-29T01:00:00Z" } },
  ];
  const running: List["running"] = {
    id: "e10",
    cause: "depot",
    startedAt: "2026-11-29T02:14:00Z",
    transfers: { pending: 3, done: 8, failed: 1 },
    retries: 2,
    bytes: { moved: 600_000_000, all: 1_000_000_000 },
    etaSeconds: 140,
    lastError: { node: "depot-1", message: "no disk has room" },
    nodes: [{ node: "depot-1", pending: 3, failed: 1, leftBytes: 400_000_000 }],
  };
  const result = { puts: 3, copies: 9, bytes: 900_000_000, failed: 1, lost: 1, released: 2, skipped: ["depot-2"] };
  return golden("depots-trouble", depotsText({ ...LIST, items, running, executions: [{ ...EXECUTION, result }] }));
});
test("depots status: none registered", () => golden("depots-none", depotsText({ ...LIST, items: [], executions: [] })));

type Artifact = z.output<typeof artifact>;
const ARTIFACT: Artifact = {
  id: "0190a000-0000-7000-8000-000000000001",
  distribution: "otelcol-contrib",
  version: "0.162.0",
  platform: "linux_amd64",
  fileName: "otelcol-contrib_0.162.0_linux_amd64.tar.gz",
  sha256: "ab".repeat(32),
  sizeBytes: 91_234_567,
  sourceUrl: "https://mirror.example/v0.162.0/otelcol-contrib_0.162.0_linux_amd64.tar.gz",
  state: "verified",
  error: null,
  verification: {
    identity: "https://example.com/release.yaml@refs/tags/v0.162.0",
    issuer: "https://issuer.example",
    repository: "r",
    logIndex: "77",
    signedAt: ["2026-11-20T10:00:00Z"],
  },
  revoked: null,
  copies: ["depot-1", "depot-2", "depot-3"].map((node) => ({ node, disks: 2, of: 2, answering: true })),
  staged: [],
  replication: "replicated",
  since: "2026-11-29T02:14:07.123Z",
  counts: { have: 3, lacking: 0, silent: 0, staged: 0, pending: 0 },
};
const DEGRADED: Artifact = {
  ...ARTIFACT,
  platform: "linux_arm64",
  sha256: "cd".repeat(32),
  replication: "degraded",
  copies: [
    { node: "depot-1", disks: 1, of: 2, answering: true },
    { node: "depot-2", disks: 2, of: 2, answering: false },
  ],
  counts: { have: 1, lacking: 1, silent: 1, staged: 0, pending: 1 },
};
const LOST: Artifact = {
  ...ARTIFACT,
  version: "0.150.0",
  sha256: "ef".repeat(32),
  replication: "lost",
  copies: [],
  counts: { have: 0, lacking: 3, silent: 0, staged: 0, pending: 0 },
};
const HISTORY: z.output<typeof replicationHistory>["items"] = [
  {
    id: "3",
    at: "2026-11-29T02:14:07Z",
    kind: "degraded",
    node: null,
    sha256: DEGRADED.sha256,
    artifacts: ["otelcol-contrib 0.162.0 linux_arm64"],
    detail: { copies: 1, minCopies: 3, before: "replicated" },
  },
  {
    id: "2",
    at: "2026-11-29T02:13:00Z",
    kind: "corrupt",
    node: "depot-1",
    sha256: DEGRADED.sha256,
    artifacts: ["otelcol-contrib 0.162.0 linux_arm64"],
    detail: { disk: "/srv/b" },
  },
  {
    id: "1",
    at: "2026-11-29T02:10:00Z",
    kind: "silent",
    node: "depot-2",
    sha256: null,
    artifacts: [],
    detail: { error: "depot_unreachable: gone" },
  },
];

test("artifacts list: what needs somebody comes first", () =>
  golden("artifacts", artifactsText([ARTIFACT, DEGRADED, LOST])));
test("artifacts show", () => golden("artifact", artifactText(DEGRADED, HISTORY)));
test("artifacts show: lost, and nothing noted", () => golden("artifact-lost", artifactText(LOST, [])));
test("depots history", () => golden("depots-history", historyText(HISTORY)));

test("artifacts status: the matrix shows what is not everywhere", async () => {
  const nodes = ["depot-1", "depot-2", "depot-3"];
  const rows = [
    { sha256: "ab".repeat(32), artifacts: ["otelcol-contrib 0.162.0 linux_amd64"], cells: "###" },
    { sha256: "cd".repeat(32), artifacts: ["otelcol-contrib 0.162.0 linux_arm64"], cells: "+?-" },
  ];
  await golden("matrix", matrixText({ nodes, total: 2, rows }, false));
  expect(matrixText({ nodes, total: 1, rows: rows.slice(0, 1) }, false)).toBe(
    "every node has every artifact on every disk (1 artifact, 3 nodes)",
  );
  expect(matrixText({ nodes, total: 2, rows }, true)).toContain("###");
  expect(matrixText({ nodes: [], total: 0, rows: [] }, false)).toBe(
    "no artifacts are wanted: nothing is to be replicated",
  );
});

test("artifacts explain: what goes comes first, and why the rest stays", () => {
  type Item = z.output<typeof retentionList>["items"][number];
  const item = (version: string, decision: Item["decision"], says: string): Item => ({
    distribution: "otelcol-contrib",
    version,
    archives: 3,
    bytes: 270_000_000,
    decision,
    says,
    needs: [],
    unneededSince: null,
    until: null,
    pin: null,
  });
  const items = [
    item("0.162.0", "keep", "stays: Git names it for fleet demo; runs on edge-1, edge-2 and 40 more"),
    item("0.150.0", "delete", "nobody needs it since 2026-10-01T00:00:00.000Z; the next run removes it"),
    item("0.160.0", "wait", "nobody needs it since 2026-11-20T00:00:00.000Z; it stays until 2026-12-20T00:00:00.000Z"),
  ];
  return golden(
    "retention",
    retentionText({ keepForMs: 30 * 86_400_000, at: "2026-11-29T02:14:07.123Z", generation: 7, items }),
  );
});

test("depots explain: why it lacks what, what happens next, what removing it would cost", () =>
  golden(
    "depots-explain",
    explanationText({
      nodeId: "depot-1",
      says: "depot-1 answers and lacks 102 artifacts",
      lacks: 102,
      copies: [
        {
          sha256: "cd".repeat(32),
          artifacts: ["otelcol-contrib 0.162.0 linux_arm64"],
          why: "it is not there; the last transfer failed after 3 tries: no disk has room",
          next: "make room on its disks, or unpin what nobody needs",
        },
      ],
      removal: { safe: false, lost: ["otelcol 0.150.0 linux_amd64"], rare: [] },
    }),
  ));
