import { expect, test } from "vitest";
import type { Child, Exit } from "./child.ts";
import { keepRunning, type Server } from "./keep-running.ts";

/** A server whose end the test decides. */
function createServer(): Server & { end(): void; stops: number } {
  let resolve: (exit: Exit) => void = () => undefined;
  const exited = new Promise<Exit>((done) => {
    resolve = done;
  });
  const end = (): void => resolve({ code: 1, signal: null });
  const server = {
    child: { exited } as Child,
    stops: 0,
    end,
    stop: async () => {
      server.stops += 1;
      end();
    },
  };
  return server;
}

test("a server that ends by itself is started again, also when a start fails in between", async () => {
  const [first, second] = [createServer(), createServer()];
  const starts: (Server | Error)[] = [first, new Error("not yet"), second];
  const lines: string[] = [];
  const running = await keepRunning(
    "Temporal",
    async () => {
      const next = starts.shift();
      if (next === undefined || next instanceof Error) throw next ?? new Error("one start too many");
      return next;
    },
    (line) => lines.push(line),
  );
  first.end();
  await expect.poll(() => running.current(), { timeout: 5_000 }).toBe(second);
  expect(lines).toEqual([
    "Temporal ended by itself; starting it again",
    "Temporal does not start (not yet); trying again",
  ]);
  await running.stop();
  expect(second.stops).toBeGreaterThan(0);
});

test("a server that is stopped stays stopped, and so does one whose start was under way", async () => {
  const [first, second] = [createServer(), createServer()];
  let finish: (server: Server) => void = () => undefined;
  let startsAgain = false;
  const starts = [
    async () => first,
    () => {
      startsAgain = true;
      return new Promise<Server>((resolve) => {
        finish = resolve;
      });
    },
  ];
  const running = await keepRunning(
    "PostgreSQL",
    () => starts.shift()?.() ?? Promise.reject(new Error("one start too many")),
    () => undefined,
  );
  first.end();
  await expect.poll(() => startsAgain, { timeout: 5_000 }).toBe(true);
  const stopped = running.stop();
  finish(second);
  await stopped;
  expect(second.stops).toBeGreaterThan(0);
  expect(starts).toEqual([]);
});

test("a first start that fails is the caller's failure", async () => {
  const failing = keepRunning(
    "x",
    () => Promise.reject(new Error("no binary")),
    () => undefined,
  );
  await expect(failing).rejects.toThrow("no binary");
});
