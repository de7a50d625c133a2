/** What a terminal may see: colours where they are welcome, no control characters, and how wide a text is. */
import { styleText } from "node:util";

export type Paint = (style: "red" | "green" | "yellow" | "cyan" | "bold" | "dim", text: string) => string;

/**
 * Colours on a terminal only; NO_COLOR (no-color.org) and TERM=dumb turn them off, FORCE_COLOR turns them on also in a
 * pipe (`0` and `false`: off) and wins, as it does for Node.
 */
export function paintFor(env: NodeJS.ProcessEnv, isTerminal: boolean): Paint {
  const { FORCE_COLOR: forced, NO_COLOR: none, TERM: term } = env;
  const isOff = (none ?? "") !== "" || term === "dumb";
  const isColourful = forced === undefined ? isTerminal && !isOff : !["0", "false"].includes(forced);
  return isColourful ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text;
}

/**
 * What a terminal obeys instead of showing it: control characters, and those that reorder a line for the eye
 * (bidirectional marks) or break it.
 */
export const UNSHOWN =
  // oxlint-disable-next-line no-control-regex -- exactly those are meant
  /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** A repository may hold anything: what may be shown of `text`. */
export const visible = (text: string): string => text.toWellFormed().replaceAll(UNSHOWN, "\uFFFD");

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
/** Blocks whose characters take two columns (East Asian Width W and F), as terminals draw them. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** Columns that `text` (without control characters) takes on a terminal. */
export function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += NO_WIDTH.test(segment) ? 0 : WIDE.test(segment) || EMOJI.test(segment) ? 2 : 1;
  }
  return width;
}
