import { describe, expect, it } from "vitest";
import { judgeLink } from "./link.ts";

const updater = { credential: "token:a", hostName: "web-01" };
const collector = { credential: "token:a", hostName: "WEB-01", kind: "collector" as const };

describe("the linking rule", () => {
  it.each([
    ["same credential and host, whatever the case", updater, true, collector, "linked"],
    ["same credential, the updater reports no host", { ...updater, hostName: "" }, true, collector, "linked"],
    ["same credential, the collector reports no host", updater, true, { ...collector, hostName: "" }, "linked"],
    ["another credential", updater, true, { ...collector, credential: "token:b" }, "mismatch"],
    ["another host", updater, true, { ...collector, hostName: "web-02" }, "mismatch"],
    [
      "another credential and no host names",
      { ...updater, hostName: "" },
      true,
      { ...collector, credential: "cert:a", hostName: "" },
      "mismatch",
    ],
    ["no collector named yet", updater, false, undefined, "none"],
    ["a collector that is not there", updater, true, undefined, "none"],
    ["an agent that is no collector", updater, true, { ...collector, kind: "unknown" as const }, "none"],
    ["another updater", updater, true, { ...collector, kind: "updater" as const }, "none"],
  ])("%s", (_, side, named, target, link) => {
    const judged = judgeLink(side, named, target);
    expect(judged.link).toBe(link);
    expect(judged.reason).not.toBe("");
  });
});
