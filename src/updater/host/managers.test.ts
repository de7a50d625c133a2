/** Services of the system, by the command lines that reach it. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/support/updater-host.ts";
import { systemFiles, type Files } from "../files.ts";
import { Layout } from "../layout.ts";
import type { ProgramResult } from "../run-program.ts";
import { parseEnvironment } from "./environment.ts";
import { endLeftovers, isCollectorOf, isCommand, type HostProcess } from "./processes.ts";
import { createProcessManager } from "./process.ts";
import { createSystemdManager } from "./systemd.ts";
import { createWindowsManager, patientFiles } from "./windows.ts";

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
    expect(lines).toEqual(["show opampsupervisor -p MainPID", "reset-failed opampsupervisor", "start opampsupervisor"]);
  });

  it("whose new version hit the start limit starts the old one all the same", async () => {
    let starts = 5; // as many as systemd allows in ten seconds, all used up by a version that ended at once
    const { manager } = systemd((line) => {
      if (line.includes(" reset-failed ")) starts = 0;
      return line.includes(" start ") && ++starts > 5 ? { code: 1, output: "start-limit-hit" } : {};
    });
    await manager.start();
    expect(starts).toBe(1);
  });

  it("is stopped plainly when its unit stops with SIGINT", async () => {
    const { lines, manager } = systemd(() => ({ output: "KillSignal=2\n" }));
    await manager.stop();
    expect(lines).toEqual(["show opampsupervisor -p KillSignal", "stop opampsupervisor"]);
  });

  /** A unit as upstream packages it: its supervisor ends on SIGINT after a few looks; `whom` is what this systemd knows. */
  function packaged(whom: string, looks = 3) {
    let interrupted = false;
    return systemd((line) => {
      if (line.includes(" kill ")) {
        interrupted ||= line.includes(`${whom}=`);
        return line.includes(`${whom}=`) ? {} : { code: 1, output: "unrecognized option" };
      }
      if (!line.includes("MainPID")) return { output: "KillSignal=15\n" };
      return { output: `MainPID=${interrupted && --looks < 0 ? 0 : 77}\n` };
    });
  }

  it("else gets SIGINT first and its time to take the collector along, before the stop's own signal ends it", async () => {
    const { lines, manager } = packaged("--kill-whom");
    await manager.stop();
    const main = "show opampsupervisor -p MainPID";
    expect(lines).toEqual([
      "show opampsupervisor -p KillSignal",
      main,
      "kill --kill-whom=main --signal=SIGINT opampsupervisor",
      main,
      main,
      main,
      main,
      "stop opampsupervisor",
    ]);
  });

  it("gets it under the option's older name too, and a supervisor that does not end is stopped in time", async () => {
    const old = packaged("--kill-who");
    await old.manager.stop();
    expect(old.lines.filter((line) => line.startsWith("kill "))).toEqual([
      "kill --kill-whom=main --signal=SIGINT opampsupervisor",
      "kill --kill-who=main --signal=SIGINT opampsupervisor",
    ]);
    const deaf = packaged("--kill-whom", Number.POSITIVE_INFINITY);
    await deaf.manager.stop();
    expect(deaf.lines.at(-1)).toBe("stop opampsupervisor");
    expect(deaf.lines.length).toBeLessThan(15); // stopTimeoutMs is one second
  });

  it("is started only once no orphan holds its ports, found by the path it runs from", async () => {
    const orphan: HostProcess = {
      pid: 2 ** 30, // no such process: the signal reaches nobody
      parent: 1,
      started: "1",
      args: ["/opt/otelcol/current/otelcol"],
      executable: "/opt/otelcol/versions/1.0.0/otelcol",
    };
    let looks = 0;
    const { lines, manager } = systemd(
      () => ({ output: "MainPID=0\n" }),
      async () => (looks++ < 2 ? [orphan] : []),
    );
    await manager.start();
    expect(looks).toBe(3);
    expect(lines.at(-1)).toBe("start opampsupervisor");
    const running = systemd(
      () => ({ output: "MainPID=77\n" }),
      async () => [orphan], // the running supervisor's own
    );
    await running.manager.start();
    expect(running.lines).toContain("start opampsupervisor");
    expect(await running.manager.supervisorPid()).toBe(77);
  });

  it("tells from the journal what its supervisor said since the start that was asked for", async () => {
    const { lines, manager } = systemd((line) => (line.startsWith("journalctl") ? { output: "failed loading" } : {}));
    expect(await manager.saidSinceStart()).toBeUndefined();
    await manager.start();
    expect(await manager.saidSinceStart()).toBe("failed loading");
    expect(lines.at(-1)).toMatch(
      /^journalctl --no-pager --output=cat --lines=500 --since=@\d+\.\d{6} --unit=opampsupervisor$/,
    );
  });

  it("that the system started tells what its last run said, by the id of that run", async () => {
    const id = "0123456789abcdef0123456789abcdef";
    const { lines, manager } = systemd((line) => ({
      output: line.startsWith("journalctl") ? "failed loading" : `InvocationID=${id}\n`,
    }));
    expect(await manager.saidSinceStart()).toBe("failed loading");
    expect(lines).toEqual([
      "show opampsupervisor -p InvocationID",
      `journalctl --no-pager --output=cat --lines=500 _SYSTEMD_INVOCATION_ID=${id}`,
    ]);
  });

  it.each([
    ["ActiveState=failed\nSubState=failed\n", true],
    ["ActiveState=activating\nSubState=auto-restart\n", true],
    ["ActiveState=active\nSubState=running\n", false],
    ["ActiveState=inactive\nSubState=dead\n", false], // somebody stopped it
    ["ActiveState=activating\nSubState=start\n", false],
  ])("with %j has failed: %s", async (output, failed) => {
    const { lines, manager } = systemd(() => ({ output }));
    expect(await manager.hasFailed()).toBe(failed);
    expect(lines).toEqual(["show opampsupervisor -p ActiveState -p SubState"]);
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

  it("has the environment of its unit and of all its files, unless one that must be there cannot be read", async () => {
    const root = mkdtempSync(join(tmpdir(), "updater-environment-"));
    writeFileSync(join(root, "a"), "TOKEN=t\nB=file\n");
    const shown = (files: string) =>
      systemd(() => ({ output: `User=root\nEnvironment=A=1 "B=two words" C=3\n${files}` })).manager.account();
    expect((await shown(`EnvironmentFiles=${root}/a (ignore_errors=no)\n`)).environment).toEqual({
      A: "1",
      B: "file",
      C: "3",
      TOKEN: "t",
    });
    const optional = `EnvironmentFiles=${root}/absent (ignore_errors=yes)\nEnvironmentFiles=${root}/a (ignore_errors=no)\n`;
    expect((await shown(optional)).environment).toMatchObject({ TOKEN: "t" });
    expect((await shown(`EnvironmentFiles=${root}/absent (ignore_errors=no)\n`)).environment).toBeUndefined();
    rmSync(root, { recursive: true });
  });

  it("goes on when the updater ends", async () => {
    const { lines, manager } = systemd(() => ({}));
    await manager.close();
    expect(lines).toEqual([]);
  });
});

describe("a Windows service", () => {
  const LOOK =
    "powershell.exe -NoProfile -NonInteractive -Command Get-Process | Where-Object { $_.Path -and $_.Path.StartsWith('C:\\otelcol\\', 'OrdinalIgnoreCase') } | ForEach-Object { $_.Id }";
  const STATES = { RUNNING: 4, STOPPED: 1, START_PENDING: 2, STOP_PENDING: 3 } as const;
  const windows = (
    answer: (line: string) => Partial<ProgramResult>,
    { installDir = "C:\\otelcol", left = () => ({}) }: { installDir?: string; left?: typeof answer } = {},
  ) => {
    // nothing runs from the installation, unless the test says so
    const { lines, run } = recorder((line) => ({
      ...(line.startsWith("powershell") ? {} : answer(line)),
      ...(line.startsWith("powershell") && left(line)),
    }));
    const base = { service: "opampsupervisor", stopTimeoutMs: 1_000, clock };
    return { lines, manager: createWindowsManager({ ...base, installDir, run }) };
  };
  const query = (state: keyof typeof STATES) => ({
    output: `SERVICE_NAME: opampsupervisor\r\n        STATE              : ${STATES[state]}  ${state}\r\n`,
  });

  it("is stopped, waited for, and what still runs from the installation is ended", async () => {
    const states: (keyof typeof STATES)[] = ["STOP_PENDING", "STOP_PENDING", "STOPPED"];
    let left = `412\r\n${process.pid}\r\nWARNING: 414 of 415\r\n413\r\n`; // we may run from there ourselves
    const { lines, manager } = windows(
      (line) => {
        if (line.startsWith("sc.exe query")) return query(states.shift() ?? "STOPPED");
        if (line.startsWith("taskkill") && line.endsWith("413")) left = "";
        return {};
      },
      { left: () => ({ output: left }) },
    );
    await manager.stop();
    expect(lines).toEqual([
      "sc.exe stop opampsupervisor",
      "sc.exe query opampsupervisor",
      "sc.exe query opampsupervisor",
      "sc.exe query opampsupervisor",
      LOOK,
      "taskkill.exe /F /T /PID 412",
      "taskkill.exe /F /T /PID 413",
      LOOK,
    ]);
    expect(await manager.isRunning()).toBe(false);
  });

  it("that is stopped already is looked after all the same, and one that does not stop is an install failure", async () => {
    const stopped = windows((line) => (line.startsWith("sc.exe stop") ? { code: 1062 } : query("STOPPED")));
    await stopped.manager.stop();
    expect(stopped.lines.at(-1)).toBe(LOOK);
    const refused = windows(() => ({ code: 5 }));
    await expect(refused.manager.stop()).rejects.toThrow(
      /^install: sc\.exe stop opampsupervisor exits with 5; see the event log/,
    );
    const stuck = windows((line) => (line.startsWith("sc.exe query") ? query("STOP_PENDING") : {}));
    await expect(stuck.manager.stop()).rejects.toThrow(/^install: .* is not stopped in time; see the event log/);
    const immortal = windows(() => query("STOPPED"), { left: () => ({ output: "412\r\n" }) });
    await expect(immortal.manager.stop()).rejects.toThrow(/^install: .* is not gone in time/);
    const blind = windows(() => query("STOPPED"), { left: () => ({ code: 1, output: "412\r\n" }) });
    await expect(blind.manager.stop()).rejects.toThrow(/^install: the processes of .* cannot be listed/);
    expect(blind.lines.filter((line) => line.startsWith("taskkill"))).toEqual([]);
  });

  it("is started and waited for; one that runs already is started, one that does not come up is an install failure", async () => {
    const states: (keyof typeof STATES)[] = ["START_PENDING", "RUNNING"];
    const slow = windows((line) => (line.startsWith("sc.exe query") ? query(states.shift() ?? "RUNNING") : {}));
    await slow.manager.start();
    expect(slow.lines).toEqual([
      "sc.exe start opampsupervisor",
      "sc.exe query opampsupervisor",
      "sc.exe query opampsupervisor",
    ]);
    expect(await slow.manager.isRunning()).toBe(true);
    await windows((line) => (line.startsWith("sc.exe start") ? { code: 1056 } : query("RUNNING"))).manager.start();
    await expect(windows(() => ({ code: 1058 })).manager.start()).rejects.toThrow(
      /^install: sc\.exe start opampsupervisor exits with 1058/,
    );
    const dead = windows((line) => (line.startsWith("sc.exe query") ? query("STOPPED") : {}));
    await expect(dead.manager.start()).rejects.toThrow(/^install: .* is not running in time/);
  });

  it.each([
    ["STOPPED", "1067  (0x42b)", true], // the process ended by itself
    ["STOPPED", "1066  (0x42a)", true],
    ["STOPPED", "0  (0x0)", false], // somebody stopped it
    ["STOPPED", "1077  (0x435)", false], // nobody has started it yet
    ["RUNNING", "0  (0x0)", false],
    ["START_PENDING", "1067  (0x42b)", false],
  ] as const)("%s with exit code %s has failed: %s", async (state, code, failed) => {
    const shown = `${query(state).output}        WIN32_EXIT_CODE    : ${code}\r\n`;
    const { lines, manager } = windows(() => ({ output: shown }));
    expect(await manager.hasFailed()).toBe(failed);
    expect(lines).toEqual(["sc.exe query opampsupervisor"]);
  });

  it("that is absent is an install failure; one that is there is none; it goes on when the updater ends", async () => {
    await expect(windows(() => ({ code: 1060 })).manager.checkExists()).rejects.toThrow(
      /^install: there is no service opampsupervisor/,
    );
    const { lines, manager } = windows(() => query("STOPPED"));
    await manager.checkExists();
    await manager.close();
    expect(lines).toEqual(["sc.exe query opampsupervisor"]);
  });

  it("quotes the installation's folder for PowerShell", async () => {
    const { lines, manager } = windows(() => query("STOPPED"), { installDir: "C:\\it's here" });
    await manager.stop();
    expect(lines.at(-1)).toContain("StartsWith('C:\\it''s here\\',");
  });

  const locked = (code: string) => Object.assign(new Error(code), { code });

  it.each(["EBUSY", "EPERM", "EACCES"])(
    "has files that may be locked for a moment (%s): they are tried again",
    async (code) => {
      const root = mkdtempSync(join(tmpdir(), "updater-locked-"));
      const layout = { installDir: root, binary: "otelcol.exe", activation: "copy" } as const;
      for (const version of ["1.0.0", "2.0.0"]) {
        mkdirSync(join(root, "versions", version), { recursive: true });
        writeFileSync(join(root, "versions", version, "otelcol.exe"), version);
      }
      let fails = 0;
      const calls: string[] = [];
      const fragile: Files = {
        ...systemFiles,
        copyDurably: async (from, to, mode) => {
          calls.push(`${from} > ${to}`.replaceAll(`${root}/`, ""));
          if (fails-- > 0) throw locked(code);
          await systemFiles.copyDurably(from, to, mode);
        },
      };
      const host = new Layout(layout, patientFiles(fragile, virtualClock()));
      await host.activate("1.0.0");
      fails = 3;
      await host.activate("2.0.0");
      // the copy plan: what runs is kept beside, then replaced by the new version
      expect(calls).toEqual([
        "versions/1.0.0/otelcol.exe > bin/otelcol.exe",
        ...Array.from({ length: 4 }, () => "bin/otelcol.exe > bin/otelcol.exe.previous"),
        "versions/2.0.0/otelcol.exe > bin/otelcol.exe",
      ]);
      expect(readFileSync(join(root, "bin", "otelcol.exe"), "utf8")).toBe("2.0.0");
      expect(readFileSync(join(root, "bin", "otelcol.exe.previous"), "utf8")).toBe("1.0.0");
      rmSync(root, { recursive: true });
    },
  );

  it("whose files stay locked says so after ten seconds; other errors count at once", async () => {
    const busy = virtualClock();
    const began = busy.monotonicMs();
    const failing = (code: string): Files => ({
      ...systemFiles,
      rename: async () => await Promise.reject(locked(code)),
      remove: async () => await Promise.reject(locked(code)),
    });
    await expect(patientFiles(failing("EBUSY"), busy).rename("a", "b")).rejects.toThrow("EBUSY");
    expect(busy.monotonicMs() - began).toBe(9_800);
    await expect(patientFiles(failing("ENOSPC"), busy).remove("a")).rejects.toThrow("ENOSPC");
    expect(busy.monotonicMs() - began).toBe(9_800);
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
