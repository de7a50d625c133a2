import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { FIRST_PROCESS_SCRIPT, handOverFirstProcess, type FirstProcess } from "./first-process.ts";

describe("who is process 1", () => {
  const asked = (over: Partial<FirstProcess>) => {
    const executed: string[][] = [];
    const it = { pid: 1, platform: "linux" as const, canRun: () => true, ...over };
    const execute = (file: string, args: readonly string[]) => void executed.push([file, ...args]);
    const answer = handOverFirstProcess(["/node", "updater", "run"], { ...it, execute });
    return { answer, executed };
  };
  it("hands over to a shell that runs the same command again", () => {
    const { executed } = asked({});
    expect(executed).toEqual([
      ["/bin/sh", "sh", "-c", FIRST_PROCESS_SCRIPT, "myriarch-updater", "/node", "updater", "run"],
    ]);
  });
  it("only there, and only where there is a shell", () => {
    expect(asked({ pid: 7 })).toEqual({ answer: "not_first", executed: [] });
    expect(asked({ platform: "win32" })).toEqual({ answer: "not_first", executed: [] });
    expect(asked({ canRun: () => false })).toEqual({ answer: "no_shell", executed: [] });
  });
});

/** The script as it is, though not as process 1: signals and exit codes do not depend on that. */
async function run(program: string, signals: NodeJS.Signals[] = []): Promise<{ code: number | null; said: string }> {
  const child = spawn("/bin/sh", ["-c", FIRST_PROCESS_SCRIPT, "myriarch-updater", process.execPath, "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  const closed = once(child, "close");
  child.stdout.on("data", (part: Buffer) => {
    said += part.toString();
    const signal = part.toString().includes("next") ? signals.shift() : undefined;
    if (signal !== undefined) child.kill(signal);
  });
  const [code] = (await closed) as [number | null];
  return { code, said };
}

describe.skipIf(process.platform === "win32")("the shell in front", () => {
  it("ends with the exit code of the updater, or with 128 and the signal that killed it", async () => {
    expect((await run("process.exit(7)")).code).toBe(7);
    expect((await run("")).code).toBe(0);
    expect((await run("process.kill(process.pid, 'SIGKILL')")).code).toBe(137);
  });

  it("hands SIGTERM and SIGINT on as often as they come, waits for the end, and lets SIGHUP pass", async () => {
    const program = `
      process.on("SIGHUP", () => console.log("HUP"));
      process.on("SIGTERM", () => console.log("TERM next"));
      let times = 0;
      process.on("SIGINT", () => { console.log("INT next"); if (++times === 2) process.exit(0); });
      setInterval(() => undefined, 60_000);
      console.log("next");`;
    const { code, said } = await run(program, ["SIGTERM", "SIGINT", "SIGINT"]);
    expect([code, said.trim().split("\n")]).toEqual([0, ["next", "TERM next", "INT next", "INT next"]]);
  });
});
