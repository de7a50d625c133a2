import { describe, expect, test } from "vitest";
import { parseDepotConfig } from "./config.ts";

const GOOD = `nodeId: depot-1
disks: [/var/lib/depot/a, /var/lib/depot/b]
control: { listen: "127.0.0.1:7801", tokenFile: /etc/control }
read: { listen: "[::1]:7802", tokenFile: /etc/read }
`;
const issues = (text: string): string => {
  try {
    parseDepotConfig(text, "depot.yaml");
    return "none";
  } catch (error) {
    return (error as Error).message;
  }
};

describe("the configuration file of a depot", () => {
  test("has defaults for everything that is not this node's own", () => {
    expect(parseDepotConfig(GOOD, "depot.yaml")).toMatchObject({
      nodeId: "depot-1",
      zone: "",
      control: { listen: { host: "127.0.0.1", port: 7801 } },
      read: { listen: { host: "::1", port: 7802 } },
      trashGrace: 600_000,
      slots: 16,
    });
  });
  test.each([
    [
      "an unknown key",
      `${GOOD}trashGrance: 5m\n`,
      /depot\.yaml:5:1: error: trashGrance: unknown key \(did you mean trashGrace\?\)/,
    ],
    ["no disk", GOOD.replace(/disks: .*/, "disks: []"), /depot\.yaml:2:\d+: error: disks: needs at least one folder/],
    [
      "a folder twice",
      GOOD.replace("/b]", "/a/]"),
      /depot\.yaml:2:\d+: error: disks\.1: the same folder is named twice/,
    ],
    [
      "a listener without a port",
      GOOD.replace("127.0.0.1:7801", "localhost"),
      /depot\.yaml:3:\d+: error: control\.listen: write host:port/,
    ],
    [
      "a missing token",
      GOOD.replace(", tokenFile: /etc/read", ""),
      /depot\.yaml:4:\d+: error: read\.tokenFile: a value is required/,
    ],
    ["broken YAML", "a: [", /depot\.yaml:1:/],
  ])("%s is refused with its place", (_, text, expected) => expect(issues(text)).toMatch(expected));
});
