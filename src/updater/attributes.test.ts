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

it("in container mode the method is container, and the image's collector is told where there is one", () => {
  const settings = (more: string) => {
    const text = `server: { endpoint: "wss://fleet.example.com/v1/opamp", token: x }
stateDir: /s
installDir: /i
supervisor: { manager: process, command: [/opampsupervisor], storageDir: /p }
${more}`;
    const read = parseUpdaterConfig(text, "updater.yaml");
    if (!read.ok) throw new Error(JSON.stringify(read.issues));
    return read.settings;
  };
  const told = (more: string, image?: string) => {
    const { nonIdentifyingAttributes } = describeUpdater(settings(more), "1.2.3", "uid", undefined, image);
    return ["install_method", "image_collector_version"].map((name) =>
      textAttribute(nonIdentifyingAttributes, `dev.myriarch.updater.${name}`),
    );
  };
  expect(told("container: { imageDir: /image }", "0.161.0")).toEqual(["container", "0.161.0"]);
  expect(told("container: {}")).toEqual(["container", undefined]);
  expect(told("")).toEqual(["binary", undefined]);
});
