import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { followOutput } from "./supervisor-output.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "output-"))));
afterEach(() => rmSync(folder, { recursive: true }));

async function follow(program: string, maxBytes = 1_000, logFile = join(folder, "supervisor.log")) {
  const echoed = { stdout: "", stderr: "" };
  const warnings: string[] = [];
  const output = followOutput({
    logFile,
    maxBytes,
    log: { info: () => undefined, error: () => undefined, warn: (_, text) => void warnings.push(text) },
    stdout: (chunk) => void (echoed.stdout += chunk.toString()),
    stderr: (chunk) => void (echoed.stderr += chunk.toString()),
  });
  for (const _ of [1, 2]) {
    const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "pipe"] });
    output(child);
    await once(child, "close");
  }
  return { echoed, warnings, logFile };
}

describe("a supervisor's output in a container", () => {
  it("is in the container's log and in the file, over restarts", async () => {
    const { echoed, logFile } = await follow('console.log("out")');
    expect([echoed.stdout, readFileSync(logFile, "utf8")]).toEqual(["out\nout\n", "out\nout\n"]);
    expect(statSync(logFile).mode & 0o777).toBe(0o600);
    expect((await follow('console.error("err")')).echoed).toEqual({ stdout: "", stderr: "err\nerr\n" });
  });

  it("never fills the disk: a file that has grown is moved aside", async () => {
    const { logFile } = await follow('console.log("0123456789")', 10);
    expect([readFileSync(logFile, "utf8"), readFileSync(`${logFile}.1`, "utf8")]).toEqual([
      "0123456789\n",
      "0123456789\n",
    ]);
  });

  it("still reaches the container's log when the file cannot be written, which is told once", async () => {
    const { echoed, warnings, logFile } = await follow('console.log("out")', 10, join(folder, "absent", "log"));
    expect([echoed.stdout, warnings, existsSync(logFile)]).toEqual([
      "out\nout\n",
      ["the supervisor's log cannot be written"],
      false,
    ]);
  });
});
