import { describe, expect, test } from "vitest";
import { isFailure } from "../domain/errors.ts";
import { createSlots } from "./slots.ts";

const never = new AbortController().signal;
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "in",
    (error: unknown) => (isFailure(error) ? error.code : error),
  );

describe("slots", () => {
  test("who finds a place goes in, who finds one in the queue waits for its turn, everybody else is told", async () => {
    const slots = createSlots({ size: 1, queue: 2, waitMs: 60_000 });
    const leave = await slots.enter(never);
    const order: string[] = [];
    const second = slots.enter(never).then((out) => (order.push("second"), out));
    const third = slots.enter(never).then((out) => (order.push("third"), out));
    expect([slots.taken(), slots.waiting(), slots.isFull()]).toEqual([1, 2, true]);
    expect(await codeOf(slots.enter(never))).toBe("depot_busy");
    leave();
    leave(); // twice is once
    (await second)();
    (await third)();
    expect([order, slots.taken(), slots.waiting()]).toEqual([["second", "third"], 0, 0]);
  });
  test("who waits too long is told, and its place in the queue is free again", async () => {
    const slots = createSlots({ size: 1, queue: 1, waitMs: 1 });
    await slots.enter(never);
    expect(await codeOf(slots.enter(never))).toBe("depot_busy");
    expect(slots.waiting()).toBe(0);
  });
  test("who is gone does not get a place later", async () => {
    const slots = createSlots({ size: 1, queue: 1, waitMs: 60_000 });
    const leave = await slots.enter(never);
    const gone = new AbortController();
    const waiting = codeOf(slots.enter(gone.signal));
    gone.abort("gone");
    expect(await waiting).toBe("gone");
    leave();
    expect([slots.taken(), slots.waiting()]).toEqual([0, 0]);
  });
});
