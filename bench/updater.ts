/**
 * The updater on one host: how long the collector is away in an update, against stop and start by hand; what the program
 * takes at rest, as executable and on plain Node.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { loadavg } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parse, stringify } from "yaml";
import { writeDemoBinary } from "../src/embedded/demo/binary.ts";
import { builtExecutable } from "../test/support/executable.ts";
import { absentNotifyTool, openNotifySocket } from "../test/support/notify-socket.ts";
import { BINARY, openTestAuthority, removeAuthority, serveArchives } from "../test/support/updater-host.ts";
import { demoArchive, ProcessHost } from "../test/support/updater-process.ts";
import { atMost, median, type Figure } from "./report.ts";

const ROUNDS = 3;
const LONGER_S = 1;
const REST_MIB = 80;
const REST_CPU_PERCENT = 0.2;
const PROBE_MS = 10;
const SETTLE_MS = 5_000;
const REST_MS = 60_000;

type Settings = {
  supervisor: { command: string[]; stateReadInterval: string; environmentFile?: string };
  collector: { healthUrl: string };
};
const say = (figure: Figure): void => console.log(JSON.stringify(figure));
const seconds = (values: readonly number[]): string => values.map((value) => `${value.toFixed(2)} s`).join(", ");
const settingsOf = (host: ProcessHost): Settings => parse(readFileSync(host.config, "utf8")) as Settings;

const built = await builtExecutable();
const authority = await openTestAuthority();
const releases = await Promise.all(
  Array.from({ length: ROUNDS }, async (_, round) => await demoArchive(authority, `0.161.${round}`)),
);
const archives = await serveArchives(releases);
try {
  await compareDowntime();
  for (const kind of ["executable", "plain Node"] as const) await measureRest(kind);
  console.log(`Load average of the machine, this benchmark included: ${loadavg()[0]?.toFixed(1)}.`);
} finally {
  await archives.close();
  removeAuthority(authority);
  built.remove();
}

async function newHost(kind: "executable" | "plain Node"): Promise<ProcessHost> {
  const host = await ProcessHost.create(archives, authority);
  const settings = settingsOf(host);
  // the demo collector is a script for `node`; the defaults of what runs at rest
  const environmentFile = join(host.root, "supervisor.env");
  writeFileSync(environmentFile, `PATH=${dirname(process.execPath)}:/usr/bin:/bin\n`);
  const supervisor = { ...settings.supervisor, environmentFile, stateReadInterval: "60s" };
  writeFileSync(host.config, stringify({ ...settings, supervisor }), { mode: 0o600 });
  if (kind === "executable") host.command = [built.path, "run", "--config", host.config];
  return host;
}

async function compareDowntime(): Promise<void> {
  const [updated, byHand] = [await newHost("executable"), await newHost("executable")];
  const ours: number[] = [];
  const others: number[] = [];
  try {
    await updated.start();
    await updated.opamp.until("collector", () => updated.reportedVersion === "0.160.0");
    let supervisor = await startByHand(byHand);
    for (const release of releases) {
      ours.push(
        await downtimeS(updated, async () => {
          updated.offer(release);
          await updated.attemptEnds("succeeded", release.version);
        }),
      );
      others.push(
        await downtimeS(byHand, async () => {
          await writeDemoBinary(join(byHand.installDir, "versions", release.version, BINARY), release.version);
          await stopByHand(supervisor);
          const current = join(byHand.installDir, "current");
          rmSync(current);
          symlinkSync(join("versions", release.version), current);
          supervisor = await startByHand(byHand);
        }),
      );
    }
    await stopByHand(supervisor);
    const more = median(ours) - median(others);
    console.log(
      `Collector away in an update ${seconds(ours)}, by hand ${seconds(others)} (medians of ${ROUNDS} rounds in turn: ` +
        `${median(ours).toFixed(2)} and ${median(others).toFixed(2)} s). Demo supervisor and collector, manager process.`,
    );
    say(atMost("collector away in an update, beyond stop and start by hand", more, LONGER_S, "s"));
  } finally {
    await updated.destroy();
    await byHand.destroy();
  }
}

type Supervisor = ReturnType<typeof spawn>;

async function startByHand(host: ProcessHost): Promise<Supervisor> {
  const [program = "", ...args] = settingsOf(host).supervisor.command;
  const child = spawn(program, args, { stdio: "ignore" });
  await once(child, "spawn");
  while (!(await answers(host))) await delay(PROBE_MS); // whoever does it by hand looks, too
  return child;
}

async function stopByHand(child: Supervisor): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGINT");
  await exited;
}

/** Seconds between the last answer of the collector before `work` took it away and the first one after. */
async function downtimeS(host: ProcessHost, work: () => Promise<void>): Promise<number> {
  while (!(await answers(host))) await delay(PROBE_MS);
  const done = work();
  let last = performance.now();
  for (let at = last; await answers(host); at = performance.now()) {
    last = at;
    await delay(PROBE_MS);
  }
  while (!(await answers(host))) await delay(PROBE_MS);
  const back = performance.now();
  await done;
  return (back - last) / 1_000;
}

async function answers(host: ProcessHost): Promise<boolean> {
  return await new Promise((resolve) => {
    const request = get(settingsOf(host).collector.healthUrl, { agent: false }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode === 200));
    });
    request.once("error", () => resolve(false));
  });
}

/** Memory and CPU of the connected program: after its start, and after an update. */
async function measureRest(kind: "executable" | "plain Node"): Promise<void> {
  const host = await newHost(kind);
  // as on a host whose disk it was read from: pages that were just written are counted in larger pieces
  if (kind === "executable")
    execFileSync("dd", [`of=${built.path}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"]);
  const listening = absentNotifyTool() === undefined ? await openNotifySocket() : undefined;
  try {
    host.env = { ...process.env, NOTIFY_SOCKET: listening?.path, WATCHDOG_USEC: "180000000" };
    await host.start();
    await host.opamp.until("collector", () => host.reportedVersion === "0.160.0");
    await delay(SETTLE_MS);
    say(atMost(`memory at rest, ${kind}`, rssMib(pidOf(host)), REST_MIB, "MiB"));
    const before = cpuSeconds(pidOf(host));
    await delay(REST_MS);
    const percent = ((cpuSeconds(pidOf(host)) - before) / (REST_MS / 1_000)) * 100;
    say(atMost(`CPU at rest, ${kind}, the watchdog's messages included`, percent, REST_CPU_PERCENT, "% of a core"));
    const [release] = releases;
    if (release === undefined) throw new Error("there is no release");
    host.offer(release);
    await host.attemptEnds("succeeded", release.version);
    await delay(SETTLE_MS);
    say(atMost(`memory at rest after an update, ${kind}`, rssMib(pidOf(host)), REST_MIB, "MiB"));
  } finally {
    listening?.close();
    await host.destroy();
  }
}

function pidOf(host: ProcessHost): number {
  return (JSON.parse(readFileSync(join(host.stateDir, "lock"), "utf8")) as { pid: number }).pid;
}

function rssMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
}

/** Own and of children that ended (the programs that it ran); hundredths of a second are what Linux counts. */
function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}
