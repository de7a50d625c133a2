import { describe, expect, it } from "vitest";
import { readEffective } from "./effective-config.ts";
import { createSeal } from "./seal.ts";

const seal = createSeal([Buffer.alloc(32, 1)]);
const sealed = (...files: [string, string][]): Buffer =>
  seal.seal(Buffer.from(JSON.stringify(files.map(([name, body]) => ({ name, contentType: "", body })))));

describe("an effective configuration", () => {
  it("of several files is one, the empty name last", () => {
    const read = readEffective(seal, sealed(["", "a: {x: 2}"], ["b.yaml", "a: {x: 1, y: 1}\nl: [1]"]));
    expect(read?.merged).toEqual({ a: { x: 2, y: 1 }, l: [1] });
    expect(read?.files.map(({ name }) => name)).toEqual(["b.yaml", ""]);
  });
  it.each([
    ["no map", "[1, 2]"],
    ["broken", "a: [1"],
    ["nested without end", `a: ${"[".repeat(50_000)}`],
    ["nested deeply", `a: ${"[".repeat(300)}${"]".repeat(300)}`],
    ["a list of lists of lists", `a:\n ${"- ".repeat(50_000)}x`],
    [
      "a bomb of aliases",
      `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghi".split("").reduce((text, key, i) => `${text}${key}: &${key} [${Array(9).fill(`*${"abcdefghi"[i]}`).join(",")}]\n`, "")}`,
    ],
    ["too large", `a: "${"x".repeat(600_000)}"`],
  ])("that is %s cannot be read, and harms nobody", (_, body) => {
    const read = readEffective(seal, sealed(["", body]));
    expect(read?.merged).toBeUndefined();
    expect(read?.files).toEqual([{ name: "", data: undefined }]);
  });
  it("sealed with another key is none", () => {
    expect(readEffective(createSeal([Buffer.alloc(32, 2)]), sealed(["", "a: 1"]))).toBeUndefined();
  });
});
