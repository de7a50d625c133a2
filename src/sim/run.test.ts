import { expect, it } from "vitest";
import { scenarioOfFlags } from "./command.ts";
import { startSimulation, type SimOptions } from "./run.ts";

const options = (hosts: number, connectPerSecond: number): SimOptions => ({
  // Nobody listens there.
  server: "ws://127.0.0.1:1",
  token: "none",
  scenario: scenarioOfFlags({
    hosts,
    connectPerSecond,
    seed: 1,
    prefix: "sim",
    stepMs: 1,
    initialVersion: "0.160.0",
    distribution: "otelcol-contrib",
    os: "linux",
    arch: "amd64",
    heartbeatMs: 30_000,
    downloadsAtOnce: 16,
    faults: [],
    attributes: {},
  }),
  log: { info: () => undefined, warn: () => undefined },
});

it("more hosts than open files are an error that says how many are needed, before the first one connects", async () => {
  await expect(startSimulation({ ...options(50_000, 1), maxOpenFiles: 20_000 })).rejects.toThrow(
    /need 100080 open files, and this process may have 20000/,
  );
});

it("the end comes also while hosts are still being started", async () => {
  const simulation = await startSimulation(options(1_000, 1));
  const ending = new AbortController();
  const all = simulation.allConnected(ending.signal);
  ending.abort();
  await expect(all).rejects.toMatchObject({ name: "AbortError" });
  await simulation.stop();
});
