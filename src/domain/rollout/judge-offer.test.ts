import { describe, expect, test } from "vitest";
import { refuseOffer, type OfferHost } from "./judge-offer.ts";

const host: OfferHost = {
  hostName: "web-01",
  serviceName: "otelcol-contrib",
  os: "linux",
  arch: "amd64",
  capabilities: 0x2n,
  version: "0.161.0",
  missing: ["receivers/kafka"],
  updater: { capabilities: 0x8n, link: "linked", linkReason: "" },
};

describe("a configuration that the collector cannot run", () => {
  test.each([
    ["is not offered, and says what is missing", {}, { version: null, config: "bb" }, "incompatible"],
    ["is judged when a newer version that may bring it runs", {}, { version: "0.162.0", config: "bb" }, undefined],
    ["is not offered when the version runs already", {}, { version: "0.161.0", config: "bb" }, "incompatible"],
    ["is not offered on the way down: it comes first", {}, { version: "0.160.0", config: "bb" }, "incompatible"],
    ["does not matter for a version alone", {}, { version: "0.162.0", config: null }, undefined],
    ["is offered when nothing is missing", { missing: [] }, { version: null, config: "bb" }, undefined],
    ["is offered when nothing is known", { missing: null }, { version: null, config: "bb" }, undefined],
  ])("%s", (_, change, goal, code) => {
    const refusal = refuseOffer({ ...host, ...change }, goal, "otelcol-contrib");
    expect(refusal?.code).toBe(code);
    if (code === "incompatible") expect(refusal?.message).toContain("receivers/kafka");
  });
});
