import { expect, test } from "vitest";
import { rangeOf } from "./range.ts";

test.each([
  [undefined, undefined],
  ["bytes=0-", { start: 0, end: 10 }],
  ["bytes=3-5", { start: 3, end: 6 }],
  ["bytes=3-99", { start: 3, end: 10 }],
  ["bytes=-4", { start: 6, end: 10 }],
  ["bytes=-99", { start: 0, end: 10 }],
  ["bytes=10-", "unsatisfiable"],
  ["bytes=5-3", "unsatisfiable"],
  ["bytes=-0", "unsatisfiable"],
  ["bytes=0-1,3-4", undefined],
  ["lines=0-1", undefined],
  ["bytes=-", undefined],
])("the range %s of ten bytes", (header, expected) => expect(rangeOf(header, 10)).toEqual(expected));
