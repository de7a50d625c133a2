/** docs/invariants.md: each row names tests that exist, or says what no test shows. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const page = readFileSync(`${root}docs/invariants.md`, "utf8");
const rows = Array.from(
  page.matchAll(/^\| ([A-Z])(\d+) \| (.+?) \| (.+?) \| (.+?) \|$/gm),
  ([, group = "", number = "", , heldBy = "", missing = ""]) => ({ group, number: Number(number), heldBy, missing }),
);
const TEST = /^`([^`]+\.test\.ts)` › (.+)$/;

function complaints(heldBy: string): string[] {
  return heldBy.split("; ").flatMap((part) => {
    const [, file, name] = TEST.exec(part) ?? [];
    if (file === undefined || name === undefined) return `"${part}" names no test`;
    if (!existsSync(root + file)) return `${file} does not exist`;
    return readFileSync(root + file, "utf8").includes(name) ? [] : `${file} has no test named "${name}"`;
  });
}

test("every invariant names tests that exist, or says what is missing", () => {
  const open = rows.filter(({ heldBy }) => heldBy === "open");
  const partly = rows.filter(({ heldBy, missing }) => heldBy !== "open" && missing !== "–");
  console.log(
    `invariants: ${rows.length - open.length - partly.length} held, ${partly.length} in part, ${open.length} open`,
  );
  expect(open.filter(({ missing }) => missing === "–")).toEqual([]);
  expect(rows.flatMap(({ heldBy }) => (heldBy === "open" ? [] : complaints(heldBy)))).toEqual([]);
});

test("every row is read, numbered from 1 in each group", () => {
  expect(rows).toHaveLength(page.match(/^\| [A-Z]\d+ /gm)?.length ?? 0);
  for (const group of new Set(rows.map((row) => row.group))) {
    const numbers = rows.filter((row) => row.group === group).map(({ number }) => number);
    expect(numbers).toEqual(numbers.map((_, i) => i + 1));
  }
});
