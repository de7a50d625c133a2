import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { absentNotifyTool, openNotifySocket, type NotifySocket } from "../../test/support/notify-socket.ts";
import { systemClock, type Clock } from "./clock.ts";
import { feedWatchdog, takeNotifier, type Notifier } from "./notify.ts";
import { runProgram } from "./run-program.ts";

const said: string[] = [];
const log = {
  info: () => undefined,
  warn: (_: object, text: string) => void said.push(text),
  error: (_: object, text: string) => void said.push(text),
};
beforeEach(() => void (said.length = 0));

const absent = absentNotifyTool();
if (absent !== undefined) console.warn(`skipped: telling systemd needs ${absent}`);

describe.skipIf(absent !== undefined)("told to a real socket", () => {
  let socket: NotifySocket;
  beforeEach(async () => void (socket = await openNotifySocket()));
  afterEach(() => socket.close());

  it("ready, alive and stopping arrive, in our name when we are root, and no child inherits the socket", async () => {
    const env = { ...process.env, NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "90000000" };
    const notifier = takeNotifier(env, runProgram, systemClock, log);
    expect(env).not.toHaveProperty("NOTIFY_SOCKET");
    expect(env).not.toHaveProperty("WATCHDOG_USEC");
    expect(notifier.watchdogMs).toBe(90_000);
    for (const [tell, text] of [
      [notifier.ready, "READY=1"],
      [notifier.alive, "WATCHDOG=1"],
      [notifier.stopping, "STOPPING=1"],
    ] as const) {
      const [got] = await Promise.all([socket.nextState(), tell()]);
      expect(got.text).toBe(text);
      if (process.getuid?.() === 0) expect(got.pid).toBe(process.pid);
    }
    expect(said).toEqual([]);
  });
});

describe("the watchdog", () => {
  /** Lets `turns` periods pass, then ends. */
  function watched(turns: number, isHanging: (turn: number) => boolean) {
    const ending = new AbortController();
    const fed: number[] = [];
    const waits: number[] = [];
    let turn = 0;
    const notifier: Notifier = {
      ready: async () => undefined,
      stopping: async () => undefined,
      alive: async () => void fed.push(turn),
      watchdogMs: 90_000,
    };
    const clock: Clock = {
      ...systemClock,
      sleep: async (ms) => {
        waits.push(ms);
        if (++turn >= turns) ending.abort(new Error("enough"));
      },
    };
    const ended = feedWatchdog(notifier, () => isHanging(turn), { clock, log, signal: ending.signal });
    return { fed, waits, ended };
  }

  it("is fed three times a period", async () => {
    const { fed, waits, ended } = watched(3, () => false);
    await ended;
    expect(fed).toEqual([0, 1, 2]);
    expect(waits).toEqual([30_000, 30_000, 30_000]);
  });

  it("is not fed while an attempt hangs, which is said once; when it moves again it is", async () => {
    const { fed, ended } = watched(5, (turn) => turn === 1 || turn === 2);
    await ended;
    expect(fed).toEqual([0, 3, 4]);
    expect(said).toEqual([expect.stringContaining("the attempt hangs")]);
  });

  it("does not exist without a socket, nor for another process", async () => {
    const run: typeof runProgram = async () => {
      throw new Error("nobody is to be told");
    };
    const of = (env: NodeJS.ProcessEnv) => takeNotifier(env, run, systemClock, log);
    expect(of({ WATCHDOG_USEC: "1" }).watchdogMs).toBeUndefined();
    expect(of({ NOTIFY_SOCKET: "/s", WATCHDOG_USEC: "1000", WATCHDOG_PID: "1" }).watchdogMs).toBeUndefined();
    expect(of({ NOTIFY_SOCKET: "/s" }).watchdogMs).toBeUndefined();
    await of({}).ready();
    expect(said).toEqual([]);
  });

  it("cannot be fed without the program: that is a warning that names it", async () => {
    const run: typeof runProgram = async () => {
      throw new Error("ENOENT");
    };
    await takeNotifier({ NOTIFY_SOCKET: "/s" }, run, systemClock, log).ready();
    expect(said).toEqual([expect.stringContaining("systemd-notify is needed")]);
  });
});
