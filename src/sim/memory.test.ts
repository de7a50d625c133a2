import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { REMOTE_CONFIG_STATUS } from "../protocol/messages.ts";
import { openMemory } from "./memory.ts";
import { planHosts } from "./plan.ts";
import { parseScenario } from "./scenario.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-sim-memory-"));
});
afterEach(() => rm(folder, { recursive: true }));

const read = parseScenario("groups: [{name: a, hosts: 2}]", "s.yaml");
const [profile, other] = read.ok ? planHosts(read.scenario) : [];
if (profile === undefined || other === undefined) throw new Error("no hosts");

it("names, versions and configurations outlive the simulator", async () => {
  const file = join(folder, "state.json");
  const first = await openMemory(file);
  const host = first.host(profile);
  const config = new Map([["", { body: Buffer.from("a: ü"), contentType: "text/yaml" }]]);
  first.keepConfig("aa", config);
  first.keepConfig("bb", config);
  Object.assign(host, { version: "0.161.0", runs: "aa", configs: 1 });
  host.config = { hash: "aa", status: REMOTE_CONFIG_STATUS.applied, error: "" };
  await first.save();
  const second = await openMemory(file);
  expect(second.host(profile)).toEqual(host);
  expect(second.config("aa")).toEqual(config);
  expect(second.config("bb").size).toBe(0); // nobody runs it
  expect(second.host(other).collectorUid).not.toBe(host.collectorUid);
});

it("a state of before, which does not say what runs, makes the server send the configuration again", async () => {
  const file = join(folder, "state.json");
  const known = { name: profile.name, collectorUid: "u", version: "0.161.0", pipelines: ["traces"] };
  const state = { version: 1, hosts: [{ ...known, config: { hash: "aa", status: 1, error: "" } }] };
  await writeFile(file, JSON.stringify(state));
  const host = (await openMemory(file)).host(profile);
  expect(host).toMatchObject({ collectorUid: "u", version: "0.161.0", attempts: 0 });
  expect(host.config).toBeUndefined();
});

it("a file that is no state of ours is an error", async () => {
  const file = join(folder, "state.json");
  await writeFile(file, "{}");
  await expect(openMemory(file)).rejects.toThrow("no state file");
});
