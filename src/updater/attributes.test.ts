import { hostname, machine, platform } from "node:os";
import { expect, it } from "vitest";
import { textAttribute } from "../protocol/messages.ts";
import { describeUpdater } from "./attributes.ts";
import { parseUpdaterConfig } from "./config.ts";

/** Names of the collector's releases, which are Go's. */
const GO_ARCH: Record<string, string> = { x86_64: "amd64", aarch64: "arm64", arm64: "arm64" };
const GO_OS: Record<string, string> = { linux: "linux", darwin: "darwin", win32: "windows" };

function own(more = ""): (name: string) => string | undefined {
  const text = `${more}
server: { endpoint: "wss://fleet.example.com/v1/opamp", token: x }
stateDir: /s
installDir: /i
supervisor: { manager: systemd, service: opampsupervisor, storageDir: /p }
`;
  const read = parseUpdaterConfig(text, "updater.yaml");
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  const { nonIdentifyingAttributes } = describeUpdater(read.settings, "1.2.3", "uid", undefined);
  return (name) => textAttribute(nonIdentifyingAttributes, name);
}

it("system, architecture and host name are told as the collector's side names them", () => {
  const told = own();
  expect(told("os.type")).toBe(GO_OS[platform()]);
  expect(told("host.arch")).toBe(GO_ARCH[machine()]);
  expect(told("host.name")).toBe(hostname());
});

it("a configured host name is told instead of the system's", () => {
  expect(own("hostName: WEB-01")("host.name")).toBe("WEB-01");
});
