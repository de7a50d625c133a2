import { expect, test } from "vitest";
import { readYaml } from "./gitops/yaml-source.ts";
import { linesOf } from "./yaml-lines.ts";

test.each([
  ["", 0, { line: 1, col: 1 }],
  ["a: 1\nb: 2", 5, { line: 2, col: 1 }],
  ["a: 1\r\nb: 2\n", 9, { line: 2, col: 4 }],
  ["a: 1\n\n", 6, { line: 3, col: 1 }],
])("%j at %i is %j", (text, offset, place) => {
  expect(linesOf(text).linePos(offset)).toEqual(place);
});

test("what stands after something unreadable has the place that it has in the file", () => {
  const text = '\0{\n "kind": "Blueprint",\n "x": 1\n}\n';
  const { problems } = readYaml(Buffer.from(text));
  const lines = text.split("\n");
  expect(problems.length).toBeGreaterThan(0);
  for (const { line, column } of problems) expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 1);
});
