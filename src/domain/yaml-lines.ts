/** Where the lines of a YAML text begin, for places in messages. */
import { LineCounter } from "yaml";

/**
 * Counts by the text itself: a counter that the parser fills misses lines after what it could not read (a NUL before a
 * flow map is enough), and then names columns that the file does not have.
 */
export function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines.addNewLine(at + 1);
  return lines;
}
