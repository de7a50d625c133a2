import { readdir, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { formatIssue } from "../domain/config/strict-yaml.ts";
import { parseScenario, type Scenario } from "./scenario.ts";

const EXAMPLES = new URL("../../examples/scenarios/", import.meta.url);
const issuesOf = (text: string): string[] => {
  const read = parseScenario(text, "s.yaml");
  return read.ok ? [] : read.issues.map(formatIssue);
};
const scenarioOf = (text: string): Scenario => {
  const read = parseScenario(text, "s.yaml");
  if (!read.ok) throw new Error(read.issues.map(formatIssue).join("\n"));
  return read.scenario;
};

describe("a scenario", () => {
  it("has defaults for everything but its groups", () => {
    const { groups, ...rest } = scenarioOf("groups: [{name: a, hosts: 3}]");
    expect(rest).toMatchObject({ seed: 1, heartbeatMs: 30_000, failedRetryBackoffMs: 600_000, events: [] });
    expect(groups[0]).toMatchObject({ transport: "websocket", version: "0.160.0", download: "real", faults: [] });
    expect(groups[0]?.timing.step).toEqual({ kind: "fixed", ms: 200 });
  });

  it("names everything that is wrong, with its place and what was meant", () => {
    const text =
      "sed: 1\ngroups:\n  - nmae: a\n    hosts: 3\n    latency: soon\n    faults: [{kind: offline, evry: 3s}]\n";
    expect(issuesOf(text)).toEqual([
      "s.yaml:1:1: error: sed: unknown key (did you mean seed?)",
      "s.yaml:3:5: error: groups.0.nmae: unknown key (did you mean name?)",
      "s.yaml:3:5: error: groups.0.name: a value is required",
      "s.yaml:5:14: error: groups.0.latency: write a duration, {min, max} or {median, p99}",
      "s.yaml:6:30: error: groups.0.faults.0.evry: unknown key (did you mean every?)",
    ]);
  });

  it.each([
    ["groups: []", /groups: Too small/],
    ["groups: [{name: a}]", /groups\.0: give exactly one of hosts, share/],
    ["groups: [{name: a, share: 5%}]", /a share needs hosts at the top/],
    ["hosts: 9\ngroups: [{name: a, share: 60%}, {name: b, share: 41%}]", /more than 100%/],
    ["groups: [{name: a, hosts: 30000}, {name: b, hosts: 30000}]", /60000 hosts are more than 50000/],
    ["groups: [{name: a, hosts: 50001}]", /hosts: Too big/],
    ["groups: [{name: a, hosts: 1}, {name: a, hosts: 1}]", /groups\.1\.name: another group has this name/],
    ["groups: [{name: A b, hosts: 1}]", /groups\.0\.name: write lower-case/],
    ["groups: [{name: a, hosts: 1, version: 0.160}]", /groups\.0\.version/],
    ["groups: [{name: a, hosts: 1, versions: {latest: 1}}]", /not a version/],
    ["groups: [{name: a, hosts: 1, step: {min: 2s, max: 1s}}]", /groups\.0\.step/],
    ["groups: [{name: a, hosts: 1, steps: {dowloading: 1s}}]", /did you mean downloading\?/],
    ["groups: [{name: a, hosts: 1, faults: [{kind: fail, step: rolling_back}]}]", /there is rollback_failed/],
    ["groups: [{name: a, hosts: 1, faults: [{kind: rolled_back, step: verifying}]}]", /nothing is rolled back/],
    ["groups: [{name: a, hosts: 1, faults: [{kind: offline, class: health}]}]", /offline has no class/],
    ["groups: [{name: a, hosts: 1, faults: [{kind: clone, times: 1}]}]", /clone has no times/],
    ["groups: [{name: a, hosts: 1, faults: [{kind: flapping, every: 0}]}]", /longer than 0/],
    ["groups: [{name: a, hosts: 1}]\nevents: [{at: 1s, do: offline}]", /say for how long/],
    ["groups: [{name: a, hosts: 1}]\nevents: [{at: 1s, do: storm, for: 1s}]", /only offline lasts/],
    ["groups: [{name: a, hosts: 1}]\nevents: [{at: 1s, do: storm, groups: [b]}]", /there is no group b/],
    ["groups: [{name: a, hosts: 1}]\nevents: [{at: 1s, do: storm, times: 2}]", /every and times go together/],
    ["end: 30d\ngroups: [{name: a, hosts: 1}]", /end: longer than 24 days/],
    ["- groups", /one mapping/],
  ])("%s is refused", (text, says) => {
    expect(issuesOf(text).join("\n")).toMatch(says);
  });

  it("of the examples is valid", async () => {
    const names = (await readdir(EXAMPLES)).filter((name) => name.endsWith(".yaml"));
    expect(names.length).toBeGreaterThan(2);
    for (const name of names) expect(issuesOf(await readFile(new URL(name, EXAMPLES), "utf8"))).toEqual([]);
  });
});
