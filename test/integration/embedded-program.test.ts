/** Our own programs as children: ready when they say so, ended with us, and never twice. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { inspectProcess } from "../../src/embedded/processes.ts";
import { startProgram, type Program } from "../../src/embedded/program.ts";
import { PROGRAM } from "../support/host-process.ts";

let dataDir: string;
let programs: Program[];
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), `myriarch-test-${process.pid}-`));
  programs = [];
});
afterEach(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  await rm(dataDir, { recursive: true, force: true });
});

const start = async (name = "ours", ...args: string[]): Promise<Program> => {
  const program = await startProgram({ name, script: PROGRAM, args: [dataDir, ...args], dataDir, readyMs: 30_000 });
  programs.push(program);
  return program;
};

test("a program is ready when it says so, writes its log, and ends on TERM by itself", async () => {
  const program = await start();
  expect(await (await fetch(program.ready.url ?? "")).text()).toBe("ok");
  expect(await readFile(join(dataDir, "logs", "ours.log"), "utf8")).toContain("listening soon");
  expect(await program.stop()).toEqual({ code: 0, signal: null });
  expect(inspectProcess(program.pid)).toBeUndefined();
});

test("the ready line of an earlier start in the same log is not this start's", async () => {
  const first = await start();
  await first.stop();
  const second = await start();
  expect(second.ready.url).not.toBe(first.ready.url);
});

test("a program that fails before it is ready is an error that shows what it said", async () => {
  await expect(start("ours", "fail")).rejects.toThrow(/ours ended \(1\); its log ends:[^]*cannot go on/);
});

test("one that a killed run left under the same name is ended before the next starts", async () => {
  const left = await start();
  const next = await start();
  await left.exited;
  expect(left.exit()).toEqual({ code: 0, signal: null });
  expect((await fetch(next.ready.url ?? "")).status).toBe(200);
});

test("a note about a process whose id belongs to somebody else now ends nobody", async () => {
  const bystander = await start("bystander");
  await start().then((program) => program.stop());
  await writeFile(join(dataDir, "run", "ours.json"), JSON.stringify({ pid: bystander.pid, started: "1", args: [] }));
  await start();
  expect(bystander.exit()).toBeUndefined();
});
