import { expect, test } from "vitest";
import type { Fleet } from "../gitops/kinds.ts";
import { fleetSpec } from "../gitops/kinds/fleet.ts";
import { assignAgents, type FleetAgent } from "./assign.ts";

const fleet = (name: string, labels: Record<string, string>, selector: Fleet["spec"]["selector"]): Fleet => ({
  kind: "Fleet",
  name,
  metadata: { name, labels },
  spec: fleetSpec.parse({ selector, blueprint: "base" }),
  source: { file: `fleets/${name}.yaml`, line: 1 },
});
const agent = (attributes: Record<string, string>): FleetAgent => ({
  uid: "a",
  hostName: "web-01",
  os: "linux",
  arch: "amd64",
  serviceName: "otelcol-contrib",
  version: "",
  credential: "",
  credentialLabels: {},
  attributes,
});
const fleetOf = (fleets: Fleet[], attributes: Record<string, string>): string | null | undefined =>
  assignAgents({ objects: fleets }, [agent(attributes)]).get("a")?.fleet;

test("the labels of a fleet itself take no part in matching, whatever the agent has", () => {
  const labelled = fleet("edge", { tier: "edge", "os.type": "linux" }, { matchLabels: { tier: "edge" } });
  expect(fleetOf([labelled], {})).toBeNull();
  expect(fleetOf([labelled], { tier: "edge" })).toBe("edge");
  expect(fleetOf([fleet("edge", { tier: "lab" }, { matchLabels: { tier: "edge" } })], { tier: "edge" })).toBe("edge");
  expect(
    fleetOf([fleet("edge", { tier: "edge" }, { matchExpressions: [{ key: "tier", operator: "DoesNotExist" }] })], {}),
  ).toBe("edge");
});
