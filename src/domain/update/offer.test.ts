import { describe, expect, it } from "vitest";
import { decideOffer, type OfferedPackage, type OfferedSet, type PackageSituation } from "./offer.ts";

const one = (over: Partial<OfferedPackage> = {}): OfferedPackage => ({
  name: "",
  topLevel: true,
  version: "v0.162.0",
  contentHash: "c1",
  packageHash: "p1",
  ...over,
});
const set = (allPackagesHash = "a1", ...packages: OfferedPackage[]): OfferedSet => ({
  allPackagesHash,
  packages: packages.length > 0 ? packages : [one()],
});
const idle: PackageSituation = { running: undefined, installed: undefined, backoffOf: () => undefined };
const running = (supervisorStopped: boolean): PackageSituation => ({
  ...idle,
  running: { set: set(), supervisorStopped },
});

describe("an offer", () => {
  it.each<[string, OfferedSet, PackageSituation, string]>([
    ["a new set begins an attempt", set(), idle, "begin"],
    ["the same set while it runs brings only a fresh token", set(), running(false), "refresh_token"],
    ["the same set after the stop, too", set(), running(true), "refresh_token"],
    ["another set before the stop takes the attempt back", set("a2"), running(false), "withdraw"],
    ["another set after the stop waits for the end", set("a2"), running(true), "queue"],
    ["an empty set while one runs is another set", { allPackagesHash: "a0", packages: [] }, running(false), "withdraw"],
    ["an empty set only forgets", { allPackagesHash: "a0", packages: [] }, idle, "forget"],
    ["a package with a name is refused", set("a1", one({ name: "otelcol" })), idle, "refuse"],
    ["an addon is refused", set("a1", one({ topLevel: false })), idle, "refuse"],
    ["a good and a foreign package are refused as a whole", set("a1", one(), one({ name: "x" })), idle, "refuse"],
    [
      "the installed set is confirmed",
      set(),
      { ...idle, installed: { allPackagesHash: "a1", packageHash: "p1" } },
      "confirm",
    ],
    [
      "the installed package in a new set is confirmed",
      set("a9"),
      { ...idle, installed: { allPackagesHash: "a1", packageHash: "p1" } },
      "confirm",
    ],
    [
      "another package than the installed one begins",
      set("a2", one({ packageHash: "p2" })),
      { ...idle, installed: { allPackagesHash: "a1", packageHash: "p1" } },
      "begin",
    ],
    [
      "empty hashes are no sign of being installed",
      set("", one({ packageHash: "" })),
      { ...idle, installed: { allPackagesHash: "", packageHash: "" } },
      "begin",
    ],
    [
      "a content that failed lately waits",
      set(),
      { ...idle, backoffOf: () => ({ cause: "x", notBefore: "T" }) },
      "back_off",
    ],
    [
      "another content is tried at once",
      set(),
      { ...idle, backoffOf: (hash) => (hash === "c2" ? { cause: "x", notBefore: "T" } : undefined) },
      "begin",
    ],
  ])("%s", (_, offered, situation, expected) => {
    expect(decideOffer(offered, situation).do).toBe(expected);
  });

  it("a refusal says unsupported package", () => {
    expect(decideOffer(set("a1", one({ name: "x" })), idle)).toMatchObject({
      because: expect.stringContaining("unsupported package") as string,
    });
  });

  it("without a hash over the set, the packages tell whether it is the same", () => {
    const bare = { ...idle, running: { set: set(""), supervisorStopped: false } };
    expect(decideOffer(set(""), bare).do).toBe("refresh_token");
    expect(decideOffer(set("", one({ version: "v0.163.0" })), bare).do).toBe("withdraw");
  });
});
