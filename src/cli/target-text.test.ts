/** What an operator reads of one target: a whole screen, kept as a file. */
import { expect, test } from "vitest";
import type { z } from "zod";
import type { targetDetail } from "../domain/rest/rollout.ts";
import { targetText } from "./target-text.ts";

const golden = (name: string, text: string) => expect(`${text}\n`).toMatchFileSnapshot(`golden/${name}.txt`);
type Detail = z.output<typeof targetDetail>;
type Attempt = Detail["attempts"][number];

const START = BigInt(Date.parse("2026-11-29T02:14:07Z")) * 1_000_000n;
const after = (seconds: number): string => String(START + BigInt(seconds) * 1_000_000_000n);
const at = (minute: number): string => new Date(Date.parse("2026-11-29T02:14:00.123Z") + minute * 60_000).toISOString();

const FAILED: Attempt = {
  attempt: 1,
  direction: "forward",
  wave: 1,
  phase: "rolled_back",
  since: at(3),
  deadlineAt: null,
  notBefore: null,
  offeredAt: at(0),
  finishedAt: at(3),
  failureClass: "health",
  code: null,
  error: "update to v0.162.0 failed: health: 3 of 3 checks failed; rolled back to v0.161.0",
  steps: [
    { step: "downloading", status: "done", startNanos: after(0), statusNanos: after(21), error: "" },
    { step: "verifying", status: "done", startNanos: after(21), statusNanos: after(24), error: "" },
    {
      step: "health_check",
      status: "failed",
      startNanos: after(30),
      statusNanos: after(150),
      error: "health: 3 of 3 checks failed",
    },
    { step: "rolling_back", status: "done", startNanos: after(150), statusNanos: after(171), error: "" },
  ],
};
const RETRIED: Attempt = {
  ...FAILED,
  attempt: 2,
  phase: "downloading",
  since: at(20),
  deadlineAt: at(50),
  offeredAt: at(20),
  finishedAt: null,
  failureClass: null,
  error: "",
  steps: [{ step: "downloading", status: "running", startNanos: after(1_200), statusNanos: after(1_200), error: "" }],
};
const TARGET: Detail = {
  host: "0190a000-0000-7000-8000-000000000007",
  hostName: "edge-7",
  ord: 6,
  wave: 1,
  fromVersion: "0.161.0",
  toVersion: "0.162.0",
  fromConfig: "ab".repeat(32),
  toConfig: "cd".repeat(32),
  wayBack: "yes",
  connected: true,
  runs: "0.161.0",
  phase: "downloading",
  since: at(20),
  why: "the host downloads 0.162.0",
  next: { what: "it verifies the archive; without progress it ends as a timeout", at: at(50) },
  waitsFor: "host",
  todo: null,
  attempts: [FAILED, RETRIED],
  offers: [
    {
      attempt: 1,
      kind: "package",
      direction: "forward",
      version: "0.162.0",
      config: null,
      openedAt: at(0),
      sentAt: at(0),
      closedAt: at(3),
      closeReason: "rolled_back",
    },
    {
      attempt: 2,
      kind: "package",
      direction: "forward",
      version: "0.162.0",
      config: null,
      openedAt: at(20),
      sentAt: at(20),
      closedAt: null,
      closeReason: null,
    },
  ],
};

test("rollouts targets: one host that failed and is tried again", () =>
  golden("target-retried", targetText("edge/7", TARGET)));

test("rollouts targets: one host that waits for a person, offline, with no way back", () =>
  golden(
    "target-waiting",
    targetText("edge/7", {
      ...TARGET,
      wave: null,
      connected: false,
      runs: "",
      phase: "pending",
      fromConfig: null,
      toVersion: null,
      wayBack: "no_way_back",
      why: "its wave has not begun: wave canary waits for an approval; the host is offline too, since 2026-11-29 01:00:00Z",
      next: { what: "a person approves wave canary", at: null },
      waitsFor: "person",
      todo: "approve the wave: myrctl rollouts approve edge/7",
      attempts: [
        { ...RETRIED, attempt: 1, wave: null, phase: "pending", deadlineAt: null, offeredAt: null, steps: [] },
      ],
      offers: [],
    }),
  ));
