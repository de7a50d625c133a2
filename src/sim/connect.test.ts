import { expect, it } from "vitest";
import { localAddresses } from "./connect.ts";

it.each([
  ["ws://127.0.0.1:8080/v1/opamp", [], "linux", ["127.0.0.1", "127.0.0.1", "127.0.0.11", "127.0.0.200"]],
  ["ws://127.0.0.1:8080/v1/opamp", [], "darwin", [undefined, undefined, undefined, undefined]],
  ["wss://fleet.example.com/v1/opamp", [], "linux", [undefined, undefined, undefined, undefined]],
  [
    "wss://fleet.example.com/v1/opamp",
    ["10.0.0.1", "10.0.0.2"],
    "linux",
    ["10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.2"],
  ],
] as const)("towards %s with %j on %s, hosts connect from %j", (endpoint, given, platform, from) => {
  const of = localAddresses(endpoint, given, platform);
  expect([0, 1, 2_500, 49_999].map(of)).toEqual(from);
});
