import { expect, test } from "vitest";
import { flowed, NO_TRICKLE, type Trickle } from "./trickle.ts";

const floor = { windowMs: 1_000, minBytes: 100 };
/** How many pieces go before it is too slow; undefined: it never is. */
function piecesUntilCut(bytes: number, waitedMs: number): number | undefined {
  let at: Trickle | undefined = NO_TRICKLE;
  for (let i = 1; i <= 1_000; i++) if ((at = flowed(at, waitedMs, bytes, floor)) === undefined) return i;
  return undefined;
}

test.each([
  ["a byte each 11 ms is a trickle, seen after the window", 1, 11, 91],
  ["exactly the floor is enough", 1, 10, undefined],
  ["one silence, then a byte", 1, 5_000, 1],
  ["a large piece after a long wait is enough", 100, 5_000, undefined],
  ["no waiting is no trickle, however small the pieces", 1, 0, undefined],
])("%s", (_, bytes, waitedMs, expected) => expect(piecesUntilCut(bytes, waitedMs)).toBe(expected));
