import { describe, expect, test } from "vitest";
import { findSuccessors, type Presence } from "./successors.ts";

const at = (minute: number): Date => new Date(Date.UTC(2026, 10, 30, 9, minute));
const agent = (uid: string, change: Partial<Presence> = {}): Presence => ({
  uid,
  hostName: "web-1",
  serviceName: "otelcol-contrib",
  credential: "token:t",
  live: true,
  firstSeenAt: at(0),
  lastSeenAt: at(5),
  ...change,
});
const old = agent("old", { live: false });

describe("a host that came back as somebody else", () => {
  test("is known by name, credential and service, whatever the case of its name", () => {
    const next = agent("new", { hostName: "WEB-1", firstSeenAt: at(6) });
    expect(findSuccessors([old, next])).toEqual(new Map([["old", "new"]]));
  });
  test.each([
    ["the other one was there before it went away", { firstSeenAt: at(4) }],
    ["the other one is away too", { firstSeenAt: at(6), live: false }],
    ["another credential", { firstSeenAt: at(6), credential: "token:u" }],
    ["another service", { firstSeenAt: at(6), serviceName: "otelcol-k8s" }],
    ["another name", { firstSeenAt: at(6), hostName: "web-2" }],
    ["no name at all", { firstSeenAt: at(6), hostName: "" }],
  ])("is not assumed: %s", (_name, change) => {
    expect(findSuccessors([old, agent("new", change)]).size).toBe(0);
  });
  test("an agent that is there has no successor", () => {
    expect(findSuccessors([agent("old"), agent("new", { firstSeenAt: at(6) })]).size).toBe(0);
  });
});
