import { describe, expect, it } from "vitest";
import { virtualClock } from "../../test/support/updater-host.ts";
import { watchSupervisor } from "./watch-supervisor.ts";

/** Seconds after the start at which it looked, until `seconds` have passed. */
async function looksWithin(seconds: number, isWrong: (second: number) => boolean): Promise<number[]> {
  const clock = virtualClock();
  const end = new AbortController();
  const began = clock.monotonicMs();
  const looks: number[] = [];
  const lookAtRest = async (): Promise<boolean> => {
    const second = (clock.monotonicMs() - began) / 1_000;
    if (second > seconds) end.abort();
    else looks.push(second);
    return isWrong(second);
  };
  const updater = { whileIdle: async (work: () => Promise<void>) => await work() };
  await watchSupervisor({ mending: { lookAtRest }, updater, clock, signal: end.signal });
  return looks;
}

describe("the watch over the supervisor", () => {
  it("looks often after the start, then each minute", async () => {
    expect(await looksWithin(200, () => false)).toEqual([0, 5, 10, 15, 20, 25, 85, 145]);
  });

  it("looks often while something is wrong", async () => {
    expect(await looksWithin(100, (second) => second === 25 || second === 85)).toEqual([0, 5, 10, 15, 20, 25, 30, 90]);
    expect((await looksWithin(100, (second) => second >= 25)).length).toBe(21);
  });

  it("does not look while an attempt runs", async () => {
    const clock = virtualClock();
    const end = new AbortController();
    let asked = 0;
    const lookAtRest = async (): Promise<boolean> => {
      throw new Error("it looked");
    };
    const updater = {
      whileIdle: async () => {
        if (++asked === 3) end.abort();
      },
    };
    await watchSupervisor({ mending: { lookAtRest }, updater, clock, signal: end.signal });
    expect(asked).toBe(3);
  });
});
