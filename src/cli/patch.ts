/** Unified diffs of configurations, in colours where they are welcome. */
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import type { Paint } from "./terminal.ts";

/** A configuration, or its absence, with the name that stands in the diff's header. */
export type Side = { name: string; text: string | undefined };

/** The unified diff, or undefined when both are equal. */
export function patchOf(before: Side, after: Side): string | undefined {
  if (before.text === after.text) return undefined;
  const name = (side: Side): string => (side.text === undefined ? "/dev/null" : side.name);
  const [was, is] = [before.text ?? "", after.text ?? ""];
  return createTwoFilesPatch(name(before), name(after), was, is, undefined, undefined, {
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
  }).trimEnd();
}

export const paintPatch = (patch: string, paint: Paint): string =>
  patch
    .split("\n")
    .map((line) => {
      if (/^(?:---|\+\+\+) /.test(line)) return paint("bold", line);
      if (line.startsWith("@@")) return paint("cyan", line);
      if (line.startsWith("+")) return paint("green", line);
      return line.startsWith("-") ? paint("red", line) : line;
    })
    .join("\n");
