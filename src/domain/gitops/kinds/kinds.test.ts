import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { SPECS, type Kind } from "../kinds.ts";
import type { Plain } from "../plain.ts";
import { checkSchema } from "../schema-issues.ts";
import { isAllowedChoice } from "./fleet.ts";

const said = (kind: Kind, spec: Plain): string[] =>
  checkSchema(SPECS[kind] as z.ZodType, spec, ["spec"]).findings.map(({ code, path }) => `${code} ${path.join(".")}`);
const fleet = (version: Plain): string[] => said("Fleet", { selector: {}, blueprint: "base", version });
const window = (more: Record<string, string>): string[] =>
  said("RolloutPolicy", {
    maintenanceWindows: [{ days: ["mon"], start: "22:00", end: "04:00", timezone: "UTC", ...more }],
  });

describe("a version that people choose", () => {
  test.each([
    ["inside of the range", ">=0.160.0 <0.170.0", "0.162.0", true],
    ["outside of the range", ">=0.160.0 <0.170.0", "0.170.0", false],
    ["a pre-release inside of it", ">=0.160.0 <0.170.0", "0.162.0-rc.1", false],
    ["a pre-release, although the range names one", ">=0.162.0-rc.1", "0.162.0-rc.2", false],
  ])("%s", (_, range, version, isAllowed) => {
    expect(isAllowedChoice({ range }, version)).toBe(isAllowed);
  });
  test("a pre-release that the list names", () => {
    expect(isAllowedChoice({ list: ["0.162.0-rc.1"] }, "0.162.0-rc.1")).toBe(true);
    expect(isAllowedChoice({ list: ["0.162.0-rc.1"] }, "0.162.0")).toBe(false);
  });
  test.each(["", " ", "latest", ">>1"])("the range %j is none", (range) => {
    expect(fleet({ choice: { range, default: "0.162.0" } })).toEqual(["invalid_value spec.version.choice.range"]);
  });
  test("neither range nor list, an empty list, a list without the default", () => {
    expect(fleet({ choice: { default: "0.162.0" } })).toEqual(["invalid_value spec.version.choice"]);
    expect(fleet({ choice: { list: [], default: "0.162.0" } })).toEqual(["invalid_value spec.version.choice.list"]);
    expect(fleet({ choice: { list: ["0.161.0"], default: "0.162.0" } })).toEqual([
      "invalid_value spec.version.choice.default",
    ]);
  });
  test("target and choice at once", () => {
    expect(fleet({ target: "0.162.0", choice: { list: ["0.162.0"], default: "0.162.0" } })).toEqual([
      "invalid_value spec.version",
    ]);
  });
});

describe("a policy", () => {
  test.each([0, "0", "00", "0%", "0.0%"])("a cap of %j would never offer", (maxConcurrent) => {
    expect(said("RolloutPolicy", { maxConcurrent })).toEqual(["invalid_value spec.maxConcurrent"]);
  });
  test("a wave may be a share of what its selector takes, or all of it", () => {
    expect(said("RolloutPolicy", { waves: [{ name: "a", selector: {} }] })).toEqual([]);
    expect(said("RolloutPolicy", { waves: [{ name: "a", selector: {}, upTo: "10%" }] })).toEqual([]);
  });
  test("skipping waits an hour unless it says otherwise, waiting has no end unless it says one", () => {
    const read = (offline: Plain): unknown => SPECS.RolloutPolicy.parse({ offline }).offline;
    expect(read({})).toEqual({ action: "skip", after: "1h" });
    expect(read({ after: "5m" })).toEqual({ action: "skip", after: "5m" });
    expect(read({ action: "wait" })).toEqual({ action: "wait" });
  });
  test("a window may end at 24:00 and cross midnight, it cannot start there", () => {
    expect(window({ end: "24:00" })).toEqual([]);
    expect(window({ start: "22:00", end: "04:00" })).toEqual([]);
    expect(window({ start: "24:00" })).toEqual(["invalid_value spec.maintenanceWindows.0.start"]);
  });
  test.each(["Europe/Berlim", "CEST", "+03:00", "", "utc", "../etc/localtime"])(
    "the zone %j is one mistake",
    (zone) => {
      expect(window({ timezone: zone })).toEqual(["invalid_value spec.maintenanceWindows.0.timezone"]);
    },
  );
  test.each(["Europe/Berlin", "UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+3"])("the zone %j", (zone) => {
    expect(window({ timezone: zone })).toEqual([]);
  });
});

describe("an executor", () => {
  const hook = (more: Record<string, string>): string[] =>
    said("Executor", { type: "webhook", webhook: { url: "https://deploy.example.com/x", secretEnv: "KEY", ...more } });
  test.each(["ftp://x/", "https:x", "https://", "deploy.example.com", "https://a b/", "https://:99999/"])(
    "the URL %j is one mistake",
    (url) => {
      expect(hook({ url })).toEqual(["invalid_value spec.webhook.url"]);
    },
  );
  test("a URL with a password is refused", () => {
    expect(hook({ url: "https://a:b@deploy.example.com/x" })).toEqual(["invalid_value spec.webhook.url"]);
  });
  test("exactly one secret, and only its name", () => {
    expect(hook({})).toEqual([]);
    expect(hook({ secretFile: "hook.key" })).toEqual(["invalid_value spec.webhook"]);
    expect(hook({ secretEnv: "not a name" })).toEqual(["invalid_value spec.webhook.secretEnv"]);
    expect(said("Executor", { type: "awx", awx: { url: "https://awx/", jobTemplate: 1 } })).toEqual([
      "invalid_value spec.awx",
    ]);
  });
  test("the section of another type", () => {
    const webhook = { url: "https://x/", secretEnv: "KEY" };
    expect(said("Executor", { type: "updater", webhook })).toEqual(["invalid_value spec.webhook"]);
    expect(said("Executor", { type: "updater" })).toEqual([]);
  });
});

test("an inventory entry may pin any instance UID of 16 bytes, and a credential", () => {
  const entry = (instanceUid: string): string[] =>
    said("Inventory", { entries: [{ host: "a", instanceUid, credential: "token-edge", expected: true }] });
  expect(entry("01890A5D-AC96-774B-BCCE-B302099A8057")).toEqual([]);
  expect(entry("ffffffff-ffff-ffff-ffff-fffffffffff0")).toEqual([]);
  expect(entry("01890a5d")).toEqual(["invalid_value spec.entries.0.instanceUid"]);
});
