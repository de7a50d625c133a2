/** Which runs the points of a scenario ask for, and how many ended in which way. */
import type { FaultPoint } from "../../src/updater/fault-points.ts";
import { FAULTS, OUTCOMES, type Case, type Fault, type Outcome, type Scenario } from "./scenario.ts";

const NEEDS_SPACE = /^(?:before|half) (?:create|write|mkdir|symlink) /;

/** Death is possible everywhere; a call fails instead of being done; a disk is full where something is to be stored. */
const STRIKES: Record<Fault, (point: FaultPoint) => boolean> = {
  kill: () => true,
  fail: ({ label }) => !label.startsWith("after "),
  full: ({ label }) => NEEDS_SPACE.test(label),
};

export function casesOf(
  scenario: Scenario,
  points: readonly FaultPoint[],
  { fault, point }: { fault?: string | undefined; point?: string | undefined },
): Case[] {
  return FAULTS.filter((name) => fault === undefined || name === fault).flatMap((name) =>
    points
      .filter((it) => STRIKES[name](it) && (point === undefined || String(it.n) === point))
      .map((it) => ({ scenario, fault: name, point: it })),
  );
}

export class Tally {
  runs = 0;
  private points = 0;
  private unreached = 0;
  private readonly ends = new Map<string, number>();

  enumerated(points: number): void {
    this.points += points;
  }
  ran({ fault }: Case, { outcome, reached }: { outcome: Outcome; reached: boolean }): void {
    this.runs++;
    if (!reached) this.unreached++;
    const key = `${fault}/${outcome}`;
    this.ends.set(key, (this.ends.get(key) ?? 0) + 1);
  }

  text(seconds: number, planned: number): string {
    const lines = FAULTS.map((fault) => {
      const counts = OUTCOMES.map((outcome) => `${this.ends.get(`${fault}/${outcome}`) ?? 0} ${outcome}`);
      return `  ${fault}: ${counts.join(", ")}`;
    });
    const each = this.runs === 0 ? 0 : seconds / this.runs;
    return [
      `${this.points} points enumerated, ${planned} runs planned, ${this.runs} made, ${this.unreached} of them never came to their point`,
      ...lines,
      `  ${each.toFixed(2)} s per run (${seconds.toFixed(0)} s)`,
    ].join("\n");
  }
}
