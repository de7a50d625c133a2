/** Services of the system, by the command lines that reach it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/support/updater-host.ts";
import type { ProgramResult } from "../run-program.ts";
import { parseEnvironment } from "./environment.ts";
import { endLeftovers, isCollectorOf, isCommand, type HostProcess } from "./processes.ts";
import { createProcessManager } from "./process.ts";
import { createSystemdManager } from "./systemd.ts";
import { createWindowsManager } from "./windows.ts";

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const clock = virtualClock();

function recorder(answer: (line: string) => Partial<ProgramResult>) {
  const lines: string[] = [];
  const run = async (file: string, args: readonly string[]): Promise<ProgramResult> => {
    const line = [file, ...args].join(" ");
    lines.push(line.replace("systemctl --no-ask-password ", ""));
    return { code: 0, timedOut: false, output: "", ...answer(line) };
  };
  return { lines, run };
}
const systemd = (
  answer: (line: string) => Partial<ProgramResult>,
  list: () => Promise<HostProcess[]> = async () => [],
) => {
  const { lines, run } = recorder(answer);
  const base = {
    service: "opampsupervisor",
    installDir: "/opt/otelcol",
    binary: "otelcol",
    stopTimeoutMs: 1_000,
    clock,
    log,
  };
  return { lines, manager: createSystemdManager({ ...base, run, list }) };
};

describe("a systemd service", () => {
  it("is started with its start limit forgotten, so that a rollback can start the old version", async () => {
    const { lines, manager } = systemd(() => ({}));
    await manager.start();
    expect(lines).toEqual(["reset-failed opampsupervisor", "start opampsupervisor"]);
  });

  it("is stopped plainly when its unit stops with SIGINT, else gets SIGINT first", async () => {
    const clean = systemd(() => ({ output: "KillSignal=2\n" }));
    await clean.manager.stop();
    expect(clean.lines).toEqual(["show opampsupervisor -p KillSignal", "stop opampsupervisor"]);
    const packaged = systemd(() => ({ output: "KillSignal=15\n" }));
    await packaged.manager.stop();
    expect(packaged.lines).toEqual([
      "show opampsupervisor -p KillSignal",
      "kill --kill-whom=main --signal=SIGINT opampsupervisor",
      "stop opampsupervisor",
    ]);
  });

  it("that does not exist, or does not stop, is an install failure that says where to look", async () => {
    await expect(systemd(() => ({ output: "LoadState=not-found\n" })).manager.checkExists()).rejects.toThrow(
      /^install: there is no service opampsupervisor \(not-found\)/,
    );
    await expect(systemd((line) => (line.includes(" stop ") ? { code: 1 } : {})).manager.stop()).rejects.toThrow(
      /^install: systemctl stop opampsupervisor exits with 1; see journalctl/,
    );
  });

  it("tells whether it is active, and its environment", async () => {
    expect(await systemd(() => ({ output: "ActiveState=active\n" })).manager.isRunning()).toBe(true);
    expect(await systemd(() => ({ output: "ActiveState=activating\n" })).manager.isRunning()).toBe(false);
    const { manager } = systemd(() => ({ output: "User=\nEnvironment=A=1 B=2\nEnvironmentFiles=\n" }));
    expect(await manager.account()).toEqual({ uid: 0, gid: 0, environment: { A: "1", B: "2" } });
  });

  it("goes on when the updater ends", async () => {
    const { lines, manager } = systemd(() => ({}));
    await manager.close();
    expect(lines).toEqual([]);
  });
});

describe("a Windows service", () => {
  it("is stopped, waited for, and what still runs from the installation is ended", async () => {
    let state = "RUNNING";
    let left = "412\r\n";
    const { lines, run } = recorder((line) => {
      if (line.startsWith("sc.exe stop")) state = "STOPPED";
      if (line.startsWith("sc.exe query")) return { output: `        STATE              : 1  ${state}` };
      if (line.startsWith("taskkill")) left = "";
      return { output: line.startsWith("powershell") ? left : "" };
    });
    const manager = createWindowsManager({
      service: "opampsupervisor",
      installDir: "C:\\otelcol",
      stopTimeoutMs: 1_000,
      run,
      clock,
    });
    expect(await manager.isRunning()).toBe(true);
    await manager.stop();
    expect(lines.filter((line) => !line.startsWith("powershell"))).toEqual([
      "sc.exe query opampsupervisor",
      "sc.exe stop opampsupervisor",
      "sc.exe query opampsupervisor",
      "taskkill.exe /F /T /PID 412",
    ]);
    expect(await manager.isRunning()).toBe(false);
  });

  it("that is running already is started, one that is absent is an install failure", async () => {
    const running = recorder((line) =>
      line.startsWith("sc.exe start") ? { code: 1056 } : { output: "STATE : 4  RUNNING" },
    );
    await createWindowsManager({
      service: "s",
      installDir: "C:\\o",
      stopTimeoutMs: 1,
      run: running.run,
      clock,
    }).start();
    const absent = recorder(() => ({ code: 1060 }));
    await expect(
      createWindowsManager({
        service: "s",
        installDir: "C:\\o",
        stopTimeoutMs: 1,
        run: absent.run,
        clock,
      }).checkExists(),
    ).rejects.toThrow(/^install: /);
  });
});

describe("leftovers", () => {
  const one = (pid: number, ...args: string[]): HostProcess => ({ pid, parent: 1, started: "1", args, executable: "" });

  it("are found by the path they run from, with or without interpreter, and by nothing else", () => {
    const isCollector = isCollectorOf("/opt/otelcol", "otelcol-contrib");
    expect(isCollector(one(1, "/opt/otelcol/current/otelcol-contrib", "--config", "x"))).toBe(true);
    expect(isCollector(one(1, "node", "/opt/otelcol/versions/0.1.0/otelcol-contrib"))).toBe(true);
    expect(isCollector({ ...one(1, "renamed"), executable: "/opt/otelcol/bin/otelcol-contrib" })).toBe(true);
    expect(isCollector(one(1, "/opt/otelcol2/current/otelcol-contrib"))).toBe(false);
    expect(isCollector(one(1, "/opt/otelcol/current/other"))).toBe(false);
    expect(isCollector(one(1, "less", "/opt/otelcol/current/otelcol-contrib"))).toBe(false);
    expect(isCommand(["supervisor", "--config", "a"])(one(1, "/bin/sh", "supervisor", "--config", "a"))).toBe(true);
    expect(isCommand(["supervisor", "--config", "a"])(one(1, "supervisor", "--config", "ab"))).toBe(false);
  });

  it("that do not end are named, after SIGINT, SIGTERM and SIGKILL had their time", async () => {
    const immortal = one(2 ** 30, "supervisor"); // no such process: signals reach nobody
    await expect(endLeftovers({ find: async () => [immortal], isSupervisor: () => true, clock, log })).rejects.toThrow(
      /^install: process 1073741824 .*does not end/,
    );
  });

  it("environment files are read as systemd reads them", () => {
    expect(parseEnvironment('# x\nA=1\nB="two words"\n;C=3\n D = 4\nE=\n')).toEqual({ A: "1", B: "two words", E: "" });
  });
});

describe("a supervisor as a child", () => {
  it("is started again when it ends by itself, is stopped by SIGINT, and its output goes to the log file", async () => {
    const root = mkdtempSync(join(tmpdir(), "updater-child-"));
    const script = join(root, "supervisor.sh");
    writeFileSync(
      script,
      `#!/bin/sh\necho start >> ${root}/starts\n[ $(wc -l < ${root}/starts) -lt 3 ] && { echo ended; exit 1; }\ntrap 'echo interrupted; exit 0' INT\nwhile :; do sleep 0.05; done\n`,
      { mode: 0o755 },
    );
    const fast = virtualClock();
    const manager = createProcessManager({
      command: [script],
      installDir: root,
      binary: "otelcol",
      logFile: join(root, "log"),
      stopTimeoutMs: 600_000,
      clock: {
        ...fast,
        sleep: async (ms, signal) => {
          await new Promise((resolve) => {
            setTimeout(resolve, 10);
          });
          signal?.throwIfAborted();
          await fast.sleep(Math.min(ms, 10));
        },
      },
      log,
    });
    const lines = (file: string): string[] => {
      try {
        return readFileSync(join(root, file), "utf8").trim().split("\n");
      } catch {
        return [];
      }
    };
    await manager.checkExists();
    await manager.start();
    const deadline = performance.now() + 15_000;
    while (lines("starts").length < 3 || !(await manager.isRunning())) {
      if (performance.now() > deadline) throw new Error("never started three times");
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    const starts = lines("starts").length;
    await manager.close();
    expect(await manager.isRunning()).toBe(false);
    expect(lines("starts")).toHaveLength(starts);
    expect(lines("log").slice(0, 2)).toEqual(["ended", "ended"]);
    rmSync(root, { recursive: true });
  });

  it("whose program is absent is an install failure", async () => {
    const manager = createProcessManager({
      command: ["/nowhere/supervisor"],
      installDir: "/nowhere",
      binary: "otelcol",
      logFile: "/dev/null",
      stopTimeoutMs: 1,
      clock,
      log,
    });
    await expect(manager.checkExists()).rejects.toThrow(/^install: /);
  });
});
