import { expect, it } from "vitest";
import type { HostAccount } from "./account.ts";
import { lineOf, redraw, tableOf } from "./table.ts";

const host = (name: string, group: string, version: string, up: boolean): HostAccount => ({
  name,
  group,
  collector: {
    uid: "c",
    connected: true,
    healthy: up,
    version,
    config: up ? { hash: "aa", status: "applied", error: "" } : null,
  },
  updater: { uid: "u", connected: up, package: null, attempt: null },
  attempts: { begun: 2, succeeded: 1, failed: 1, rolledBack: 0 },
});
const snapshot = {
  hosts: [
    host("a-1", "a", "0.160.0", true),
    host("a-2", "a", "0.161.0", false),
    host("edge-1", "edge", "0.160.0", true),
  ],
  steps: new Map([["a-2", "verifying"]]),
  perSecond: { sent: 3.4, received: 3 },
};

it("the table has a row for each group, and what is true of all", () => {
  expect(tableOf(snapshot)).toEqual([
    "group  hosts  connected  healthy  updating  versions",
    "a          2          1        1         1  0.160.0: 1, 0.161.0: 1",
    "edge       1          1        1         0  0.160.0: 1",
    "",
    "steps           verifying: 1",
    "attempts        6 begun, 3 succeeded, 3 failed, 0 rolled back",
    "configurations  applied: 2, none: 1",
    "messages        3/s sent, 3/s received",
  ]);
});
it("elsewhere than on a terminal it is one line", () => {
  expect(lineOf(snapshot)).toMatch(
    /^3 hosts, 2 connected, 2 healthy, 1 updating; versions 0\.160\.0: 2, 0\.161\.0: 1; /,
  );
});
it("a table takes the place of a longer one", () => {
  expect(redraw(["x"], 0)).toBe("\u001B[2Kx\n");
  expect(redraw(["x"], 3)).toBe("\u001B[3A\u001B[2Kx\n\u001B[J");
});
