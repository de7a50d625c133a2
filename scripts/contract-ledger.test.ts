/** docs/contract.md is a ledger, not a wish: each row is held by a test that exists, or says in which open area it waits. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const page = readFileSync(`${root}docs/contract.md`, "utf8");
const areas = new Set([...page.matchAll(/`(area:[a-z]+)` \(/g)].map((match) => match[1]));
const rows = [...page.matchAll(/^\| ([RGU]\d+) \| (.+?) \| (.+?) \|$/gm)].map(([, id, rule, heldBy]) => ({
  id: id ?? "",
  rule: rule ?? "",
  heldBy: heldBy ?? "",
}));

/** `file` › part of a test's name */
const TEST = /^`([^`]+\.test\.ts)` › (.+)$/;

function complaint(heldBy: string): string | undefined {
  if (heldBy === "context") return undefined;
  if (heldBy.startsWith("area:")) return areas.has(heldBy) ? undefined : `${heldBy} is not an open area`;
  for (const part of heldBy.split("; ")) {
    const [, file, name] = TEST.exec(part) ?? [];
    if (file === undefined || name === undefined) return `"${part}" names neither a test nor an area`;
    if (!existsSync(root + file)) return `${file} does not exist`;
    if (!readFileSync(root + file, "utf8").includes(name)) return `${file} has no test named "${name}"`;
  }
  return undefined;
}

test("every row of the contract ledger names an existing test or an open area", () => {
  const wrong = rows.flatMap(({ id, heldBy }) => {
    const text = complaint(heldBy);
    return text === undefined ? [] : [`${id}: ${text}`];
  });
  const held = rows.filter(({ heldBy }) => TEST.test(heldBy.split("; ")[0] ?? "")).length;
  const open = rows.filter(({ heldBy }) => heldBy.startsWith("area:")).length;
  console.log(
    `contract ledger: ${held} rows held by tests, ${open} in open areas, ${rows.length - held - open} context`,
  );
  expect(wrong).toEqual([]);
  expect(rows.length).toBeGreaterThan(150);
});

test("ids are unique and in order within each document", () => {
  for (const letter of ["R", "G", "U"]) {
    const ids = rows.filter(({ id }) => id.startsWith(letter)).map(({ id }) => Number(id.slice(1)));
    expect(ids).toEqual(ids.map((_, i) => i + 1));
  }
});
