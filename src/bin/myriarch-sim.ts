/** myriarch-sim: simulated hosts over real OpAMP connections. */
import { readFile } from "node:fs/promises";
import { pino } from "pino";
import { simCommand, type Flags } from "../sim/command.ts";
import { startSimulation } from "../sim/run.ts";

const flags = simCommand.parse().opts<Flags>();
const ending = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
const { server, hosts, prefix, stepMs, initialVersion, distribution, os, arch, heartbeatMs, connectPerSecond } = flags;
const simulation = await startSimulation({
  server,
  hosts,
  prefix,
  stepMs,
  initialVersion,
  distribution,
  os,
  arch,
  heartbeatMs,
  connectPerSecond,
  token: (await readFile(flags.tokenFile, "utf8")).trim(),
  faults: flags.fault,
  attributes: flags.attribute,
  downloadsAtOnce: flags.downloads,
  log: pino({ name: "myriarch-sim", level: flags.logLevel }, pino.destination(2)),
  ...(flags.state === undefined ? {} : { stateFile: flags.state }),
  ...(flags.caFile === undefined ? {} : { ca: await readFile(flags.caFile) }),
  ...(flags.allowUrl === undefined ? {} : { allowedUrlPrefixes: flags.allowUrl }),
  ...(flags.backoffMs === undefined ? {} : { failedRetryBackoffMs: flags.backoffMs }),
});
const timeUp = flags.seconds === undefined ? undefined : setTimeout(() => ending.abort(), flags.seconds * 1_000);
await simulation.allConnected(ending.signal).then(
  () => console.log(JSON.stringify({ ready: true, ...simulation.counts() })),
  () => undefined, // ended before all were there
);
await new Promise<void>((resolve) => {
  if (ending.signal.aborted) resolve();
  else ending.signal.addEventListener("abort", () => resolve(), { once: true });
});
clearTimeout(timeUp);
await simulation.stop();
