/** Facts of the tour: each is checked from outside, within a deadline; the first that fails ends the tour with its name. */
import { setTimeout as delay } from "node:timers/promises";

export class FactFailed extends Error {
  override readonly name = "FactFailed";
}

export type Facts = {
  /** Waits until `look` answers something, asking again until the deadline; says what it saw last when it does not. */
  until: <T>(name: string, look: () => Promise<T | undefined | false>, options?: UntilOptions) => Promise<T>;
  /** Checks once. `complaint` undefined or empty means it holds. */
  check(name: string, complaint: () => Promise<string | undefined> | string | undefined): Promise<void>;
  chapter(title: string): void;
  /** Chapter titles with their seconds. */
  times(): { title: string; seconds: number }[];
};
type UntilOptions = { withinMs?: number; seen?: () => Promise<string> | string; quiet?: boolean };

const WITHIN_MS = 120_000;
const AGAIN_MS = 200;

export function createFacts(say: (line: string) => void, now: () => number): Facts {
  const chapters: { title: string; startedAt: number }[] = [];
  const startedAt = now();
  const ok = (name: string): void => say(`  ✓ ${name} (${((now() - startedAt) / 1000).toFixed(1)} s)`);
  return {
    async until(name, look, { withinMs = WITHIN_MS, seen, quiet = false } = {}) {
      const deadline = now() + withinMs;
      let trouble = "";
      for (;;) {
        try {
          const found = await look();
          if (found !== undefined && found !== false) {
            if (!quiet) ok(name);
            return found;
          }
          trouble = "";
        } catch (error) {
          if (error instanceof FactFailed) throw error;
          // The server may be down on purpose; what was wrong last is said when time is over.
          trouble = error instanceof Error ? error.message : String(error);
        }
        if (now() > deadline) {
          const last = trouble || (seen === undefined ? "" : await seen());
          throw new FactFailed(
            `not within ${withinMs / 1000} s: ${name}${last === "" ? "" : `\n    seen last: ${last}`}`,
          );
        }
        await delay(AGAIN_MS);
      }
    },
    async check(name, complaint) {
      const wrong = await complaint();
      if (wrong !== undefined && wrong !== "") throw new FactFailed(`${name}: ${wrong}`);
      ok(name);
    },
    chapter(title) {
      chapters.push({ title, startedAt: now() });
      say(`\n${chapters.length}. ${title}`);
    },
    times: () =>
      chapters.map(({ title, startedAt: from }, i) => ({
        title,
        seconds: Math.round(((chapters[i + 1]?.startedAt ?? now()) - from) / 100) / 10,
      })),
  };
}
