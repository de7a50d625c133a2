/** What is done about a supervisor that does not come up: by its words, real processes and real ports. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { virtualClock } from "../../test/support/updater-host.ts";
import { systemClock } from "./clock.ts";
import { systemFiles } from "./files.ts";
import { waitHealthy } from "./health.ts";
import { findHolders, METRICS_PORT, type PortHolder } from "./host/ports.ts";
import { isCollectorOf, type HostProcess } from "./host/processes.ts";
import { createStartMending, type StartMendingDeps } from "./start-mending.ts";

const SAID_UNREADABLE = "failed to start supervisor: failed loading initial config: yaml: line 2";
const SAID_TAKEN =
  "could not get bootstrap info from the Collector: collector's OpAMP client never connected to the Supervisor";

let root: string;
let said: string;
let starts: number;
let logged: string[];
let supervisor: number | undefined;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "updater-mending-"));
  [said, starts, logged, supervisor] = ["", 0, [], undefined];
  writeFileSync(join(root, "saved.dat"), "bytes");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const note = (fields: object, text: string) => void logged.push(`${text} ${JSON.stringify(fields)}`);
const mending = (over: Partial<StartMendingDeps> = {}) =>
  createStartMending({
    service: {
      saidSinceStart: async () => said,
      supervisorPid: async () => supervisor,
      start: async () => {
        starts += 1;
        said = "";
      },
    },
    savedConfig: join(root, "saved.dat"),
    agentLog: join(root, "agent.log"),
    isCollector: isCollectorOf(root, "otelcol"),
    files: systemFiles,
    clock: systemClock,
    log: { info: note, warn: note, error: note },
    holders: async () => [],
    ...over,
  });
const aside = (): string[] => readdirSync(root).filter((name) => name.startsWith("saved.dat.unreadable-"));

describe("a saved configuration that the supervisor says it cannot load", () => {
  it("is moved aside, kept and named, and the supervisor is started again", async () => {
    said = SAID_UNREADABLE;
    const told = await mending().look();
    expect(aside()).toHaveLength(1);
    expect(readFileSync(join(root, aside()[0] ?? ""), "utf8")).toBe("bytes");
    expect(starts).toBe(1);
    expect(told).toContain(aside()[0]);
    expect(logged.join()).toContain(aside()[0]);
  });

  it("is moved once per attempt, and what was done stays in the error", async () => {
    const it = mending();
    said = SAID_UNREADABLE;
    await it.look();
    writeFileSync(join(root, "saved.dat"), "again");
    said = SAID_UNREADABLE;
    expect(await it.look()).toContain("could not read its saved remote configuration, now ");
    expect([aside().length, starts]).toEqual([1, 1]);
    it.begin();
    await it.look();
    expect([aside().length, starts]).toEqual([2, 2]);
  });

  it("stays where the supervisor says nothing of the kind", async () => {
    said = "everything is fine";
    expect(await mending().look()).toBeUndefined();
    expect([aside(), starts]).toEqual([[], 0]);
  });

  it("that cannot be moved does not end the wait: it is told", async () => {
    said = SAID_UNREADABLE;
    rmSync(join(root, "saved.dat"));
    expect(await mending().look()).toMatch(/ENOENT/);
    expect(logged.join()).toContain("could not be mended");
  });
});

describe.skipIf(process.platform !== "linux")("a collector on the ports", () => {
  let children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children) child.kill("SIGKILL");
    children = [];
  });
  /** A process that listens, and looks as if it ran from `folder`. */
  async function listening(folder: string): Promise<ChildProcess> {
    mkdirSync(folder, { recursive: true });
    const program = join(folder, "otelcol");
    copyFileSync(process.execPath, program);
    const code = `require("net").createServer().listen(0, "127.0.0.1", () => console.log("up"))`;
    const child = spawn(program, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    await once(child.stdout, "data");
    return child;
  }

  it("of this installation that no supervisor owns is ended, and the supervisor started again", async () => {
    const orphan = await listening(join(root, "versions", "1.0.0"));
    const stranger = await listening(join(root, "elsewhere"));
    const gone = once(orphan, "exit");
    expect(await mending({ holders: findHolders }).look()).toBeUndefined();
    expect(await gone).toEqual([null, "SIGTERM"]);
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    expect(starts).toBe(1);
  });

  it("that belongs to the running supervisor is left alone", async () => {
    const owned = await listening(join(root, "versions", "1.0.0"));
    supervisor = process.pid; // its parent
    await mending({ holders: findHolders }).look();
    expect(owned.exitCode ?? owned.signalCode).toBeNull();
    expect(starts).toBe(0);
  });
});

describe("a stranger on a port that is said to be taken", () => {
  const stranger: HostProcess = {
    pid: 7,
    parent: 1,
    started: "1",
    args: ["nginx", "--token=s"],
    executable: "/usr/sbin/nginx",
  };
  const holds = (port: number): Partial<StartMendingDeps> => ({
    holders: async (): Promise<PortHolder[]> => [{ port, process: stranger }],
  });

  it.each([
    ["by the supervisor's first start", METRICS_PORT, () => void (said = SAID_TAKEN)],
    ["by the supervisor", 4320, () => void (said = "listen tcp 127.0.0.1:4320: bind: address already in use")],
    [
      "by the collector",
      4317,
      () => writeFileSync(join(root, "agent.log"), "listen tcp 0.0.0.0:4317: bind: address already in use\n"),
    ],
  ])("%s is named and not touched", async (_, port, say) => {
    say();
    expect(await mending(holds(port)).look()).toBe(
      `port ${port} is held by process 7 (nginx), which is no collector of this installation`,
    );
    expect(starts).toBe(0);
    expect(await mending(holds(port + 1)).look()).toBeUndefined();
  });

  it("stands in the error of a host that does not become healthy", async () => {
    said = SAID_TAKEN;
    const clock = virtualClock();
    const settings = {
      supervisorUrl: undefined,
      collectorUrl: undefined,
      successes: 3,
      intervalMs: 5_000,
      timeoutMs: 60_000,
    };
    const deps = { clock, isServiceRunning: async () => false, mending: mending(holds(METRICS_PORT)) };
    await expect(waitHealthy(settings, deps)).rejects.toThrow(
      /^health: not healthy within 60 s: the supervisor's service does not run; port 8888 is held by process 7 \(nginx\)/,
    );
  });
});
