import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { errorRow, ERRORS_PAGE } from "../../scripts/generate-errors.ts";
import { ERRORS, failure, isFailure, type ErrorCode } from "./errors.ts";

const codes = Object.keys(ERRORS) as ErrorCode[];

describe("docs/errors.md", () => {
  it("has the row of every code, and no row of a code that does not exist", async () => {
    const rows = (await readFile(ERRORS_PAGE, "utf8")).split("\n").filter((line) => line.startsWith("| `"));
    // after adding a code: node scripts/generate-errors.ts
    expect(rows.toSorted()).toEqual(codes.map(errorRow).toSorted());
  });
});

describe("the catalogue", () => {
  it.each(codes)("%s is a snake_case code with an HTTP status of an error", (code) => {
    expect(code).toMatch(/^[a-z]+(_[a-z0-9]+)*$/);
    expect(ERRORS[code].status).toBeGreaterThanOrEqual(400);
    expect(ERRORS[code].status).toBeLessThan(600);
  });
  it("makes failures whose message is the catalogue's text and whose cause stays apart", () => {
    const made = failure("control_conflict", { control: "approve", because: "no wave waits" }, new Error("planted"));
    expect(isFailure(made)).toBe(true);
    expect(made).toMatchObject({ code: "control_conflict", status: 409, handling: "halt" });
    expect(made.message).toBe("approve is not possible: no wave waits");
    expect(JSON.stringify([made.message, made.detail])).not.toContain("planted");
  });
});
