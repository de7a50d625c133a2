/** What PowerShell is asked on a Windows host, and how its answers are read. */
import { win32 } from "node:path";
import { describe, expect, it } from "vitest";
import { isCollectorOf } from "./processes.ts";
import { findWindowsHolders, listWindowsProcesses } from "./windows-processes.ts";

const PROCESSES =
  "Get-CimInstance Win32_Process | Where-Object { $_.CreationDate } | ForEach-Object { $_.ProcessId, $_.ParentProcessId, $_.CreationDate.ToFileTimeUtc(), $_.ExecutablePath, $_.CommandLine -join [char]9 }";
const LISTENERS =
  "Get-NetTCPConnection -State Listen | ForEach-Object { $_.LocalAddress, $_.LocalPort, $_.OwningProcess -join [char]9 }";
const SHOWN = [
  "4\t0\t134084160000000000\t\t",
  '812\t4\t134084160000000001\tC:\\OtelCol\\bin\\otelcol-contrib.exe\t"C:\\OtelCol\\bin\\otelcol-contrib.exe" --config "C:\\Program Files\\x.yaml"',
  "WARNING: something",
  "900\t1\t134084160000000002\tC:\\nginx\\nginx.exe\tnginx.exe -c x",
  "",
].join("\r\n");

const powershell = (answers: Record<string, { code?: number; output: string }>) => {
  const lines: string[] = [];
  const run = async (file: string, args: readonly string[]) => {
    lines.push([file, ...args.slice(0, -1)].join(" "));
    return { code: 0, timedOut: false, ...(answers[args.at(-1) ?? ""] ?? { code: 1, output: "" }) };
  };
  return { lines, run };
};

describe("processes of a Windows host", () => {
  it("are asked of PowerShell, by one command line, and read by columns", async () => {
    const { lines, run } = powershell({ [PROCESSES]: { output: SHOWN } });
    expect(await listWindowsProcesses(run)).toEqual([
      { pid: 4, parent: 0, started: "134084160000000000", executable: "", args: [] },
      {
        pid: 812,
        parent: 4,
        started: "134084160000000001",
        executable: "C:\\OtelCol\\bin\\otelcol-contrib.exe",
        args: ["C:\\OtelCol\\bin\\otelcol-contrib.exe", "--config", "C:\\Program Files\\x.yaml"],
      },
      {
        pid: 900,
        parent: 1,
        started: "134084160000000002",
        executable: "C:\\nginx\\nginx.exe",
        args: ["nginx.exe", "-c", "x"],
      },
    ]);
    expect(lines).toEqual(["powershell.exe -NoProfile -NonInteractive -Command"]);
  });

  it("are collectors of the installation whatever the case of their path", async () => {
    const { run } = powershell({ [PROCESSES]: { output: SHOWN } });
    const isOurs = isCollectorOf("c:\\otelcol", "otelcol-contrib.exe", win32);
    expect((await listWindowsProcesses(run)).filter(isOurs).map(({ pid }) => pid)).toEqual([812]);
  });

  it("that hold a port are found with it, and where they listen", async () => {
    const output = [
      "127.0.0.1\t8888\t900",
      "0.0.0.0\t135\t4",
      "::\t4317\t812",
      "::1\t9\t900",
      "10.0.0.1\t80\t900",
      "127.0.0.1\t1\t77",
      "",
    ];
    const { lines, run } = powershell({ [PROCESSES]: { output: SHOWN }, [LISTENERS]: { output: output.join("\r\n") } });
    const found = await findWindowsHolders(run);
    expect(found.map(({ port, on, process }) => [port, on, process.pid])).toEqual([
      [8888, "loopback", 900],
      [135, "any", 4],
      [4317, "any", 812],
      [9, "other", 900],
      [80, "other", 900],
    ]);
    expect(lines).toHaveLength(2);
  });

  it("that cannot be listed are an error that says so", async () => {
    const { run } = powershell({});
    await expect(listWindowsProcesses(run)).rejects.toThrow("install: the processes cannot be listed (PowerShell: 1)");
    await expect(findWindowsHolders(run)).rejects.toThrow(
      "install: the listening ports cannot be listed (PowerShell: 1)",
    );
  });
});
