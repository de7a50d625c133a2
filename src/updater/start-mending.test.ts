/** What is done about a supervisor that does not come up: by its words, real processes and real ports. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { savedRemoteConfig } from "../../test/support/saved-config.ts";
import { virtualClock } from "../../test/support/updater-host.ts";
import { systemClock } from "./clock.ts";
import { systemFiles } from "./files.ts";
import { waitHealthy } from "./health.ts";
import { METRICS_PORT } from "../domain/update/listening-ports.ts";
import { findHolders, type PortHolder } from "./host/ports.ts";
import { isCollectorOf, type HostProcess } from "./host/processes.ts";
import { createStartMending, type StartMendingDeps } from "./start-mending.ts";

const SAID_UNREADABLE = "failed to start supervisor: failed loading initial config: yaml: line 2";
const SAID_TAKEN =
  "could not get bootstrap info from the Collector: collector's OpAMP client never connected to the Supervisor";

const USABLE = savedRemoteConfig("a: 1\n");
const REFUSED = savedRemoteConfig("a: [\n");

let root: string;
let said: string | undefined;
let starts: number;
let stops: number;
let failed: boolean;
let logged: string[];
let supervisor: number | undefined;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "updater-mending-"));
  [said, starts, stops, failed, logged, supervisor] = ["", 0, 0, false, [], undefined];
  writeFileSync(join(root, "saved.dat"), USABLE);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const note = (fields: object, text: string) => void logged.push(`${text} ${JSON.stringify(fields)}`);
const mending = (over: Partial<StartMendingDeps> = {}) =>
  createStartMending({
    service: {
      saidSinceStart: async () => said,
      supervisorPid: async () => supervisor,
      hasFailed: async () => failed,
      start: async () => {
        starts += 1;
        said = said === undefined ? undefined : "";
        failed = false;
      },
      stop: async () => void (stops += 1),
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
    expect(readFileSync(join(root, aside()[0] ?? ""), "utf8")).toBe(Buffer.from(USABLE).toString("utf8"));
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

describe("a saved configuration that was not the reason", () => {
  it("is put back when the supervisor says the same without it, once, and the error says so", async () => {
    const it = mending();
    said = SAID_UNREADABLE;
    await it.look();
    said = SAID_UNREADABLE;
    expect(await it.look()).toBe("the supervisor cannot load its configuration, with or without the saved remote one");
    expect(aside()).toEqual([]);
    expect(readFileSync(join(root, "saved.dat"))).toEqual(Buffer.from(USABLE));
    said = SAID_UNREADABLE;
    await it.look();
    expect([aside(), starts]).toEqual([[], 1]);
  });

  it("stays aside when a new one came meanwhile", async () => {
    const it = mending();
    said = SAID_UNREADABLE;
    await it.look();
    writeFileSync(join(root, "saved.dat"), USABLE);
    said = SAID_UNREADABLE;
    await it.look();
    expect(aside()).toHaveLength(1);
  });
});

describe("what a power cut leaves of a saved configuration", () => {
  const cut = USABLE.subarray(0, USABLE.byteLength >> 1);
  it.each([
    ["no byte", Buffer.alloc(0), 1], // a supervisor takes it for one without content and runs no collector
    ["zeros", Buffer.alloc(USABLE.byteLength), 0], // passed over: what runs may go on
    ["a half", cut, 0],
    ["a half, then zeros", Buffer.concat([cut, Buffer.alloc(USABLE.byteLength - cut.byteLength)]), 0],
  ])(
    "%s: it is moved aside at the second look, and the supervisor restarted where it must",
    async (_, bytes, restarts) => {
      for (const look of ["look", "lookAtRest"] as const) {
        [starts, stops] = [0, 0];
        writeFileSync(join(root, "saved.dat"), bytes);
        const it = mending();
        await it[look]();
        expect(aside(), "somebody may be writing it").toEqual([]);
        await it[look]();
        expect([aside().length, starts, stops]).toEqual([1, restarts, restarts]);
        for (const name of aside()) rmSync(join(root, name));
      }
    },
  );

  it("is left alone while it changes from look to look", async () => {
    const it = mending();
    for (const bytes of [Buffer.alloc(0), cut, Buffer.alloc(0), USABLE]) {
      writeFileSync(join(root, "saved.dat"), bytes);
      await it.lookAtRest();
    }
    expect([aside(), starts]).toEqual([[], 0]);
  });
});

describe("a supervisor that does not come up while nothing goes on", () => {
  it("because of what it saved gets it moved aside, and is started again; another look is due soon", async () => {
    [failed, said] = [true, SAID_UNREADABLE];
    const it = mending();
    expect(await it.lookAtRest()).toBe(true);
    expect([aside().length, starts]).toEqual([1, 1]);
    expect(await it.lookAtRest()).toBe(false);
  });

  it("is judged by the file where nobody keeps its words", async () => {
    [failed, said] = [true, undefined];
    const it = mending();
    await it.lookAtRest();
    expect([aside(), starts]).toEqual([[], 0]);
    writeFileSync(join(root, "saved.dat"), REFUSED);
    await it.lookAtRest();
    expect([aside().length, starts]).toEqual([1, 1]);
  });

  it("and that somebody stopped stays stopped, whatever it said and saved before", async () => {
    [failed, said] = [false, SAID_UNREADABLE];
    writeFileSync(join(root, "saved.dat"), REFUSED);
    for (const _ of [1, 2, 3]) await mending().lookAtRest();
    expect([aside(), starts]).toEqual([[], 0]);
  });

  it("gets the next one moved aside only after it ran: not again and again", async () => {
    const it = mending();
    const fails = async () => {
      [failed, said, supervisor] = [true, SAID_UNREADABLE, undefined];
      writeFileSync(join(root, "saved.dat"), REFUSED);
      await it.lookAtRest();
      return aside().length;
    };
    expect(await fails()).toBe(1);
    [failed, supervisor] = [false, 7];
    await it.lookAtRest(); // it may be about to fail
    expect(await fails()).toBe(1);
    [failed, supervisor] = [false, 8];
    for (const _ of [1, 2]) await it.lookAtRest();
    expect(await fails()).toBe(2);
  });

  it("for reasons of its own is told apart from one that can be mended: nothing is done, another look is due", async () => {
    [failed, said] = [true, "listen tcp: bind"];
    expect(await mending().lookAtRest()).toBe(true);
    expect([aside(), starts]).toEqual([[], 0]);
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
    holders: async (): Promise<PortHolder[]> => [{ port, on: "any", process: stranger }],
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
