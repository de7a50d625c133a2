/**
 * Two health reports as they lie in frames, compared without decoding them. Collectors send the same report again and again
 * with new status times; decoding one of 24 components costs some 8 µs, this look at it one.
 */
import { MAX_NESTING } from "./wire.ts";

/** ComponentHealth.status_time_unix_nano: field 5, fixed64. */
const STATUS_TIME = 0x29;
/** ComponentHealth.component_health_map: field 6; its entries have the component's health in field 2. */
const COMPONENT = 0x32;
const ENTRY_VALUE = 0x12;

/**
 * True when both are the same but for the times of statuses, at any level: nothing else that they say differs. False also
 * whenever this cannot be seen at once. `known` was decoded before, so what is equal to it is well-formed.
 */
export const isSameButTimes = (known: Uint8Array, got: Uint8Array): boolean =>
  known.length === got.length && isSame({ known, got }, 0, known.length, "health", 0);

type Pair = { known: Uint8Array; got: Uint8Array };

function isSame(pair: Pair, from: number, end: number, of: "health" | "entry", depth: number): boolean {
  const { known, got } = pair;
  const inner = of === "health" ? COMPONENT : ENTRY_VALUE;
  let at = from;
  while (at < end) {
    const tag = known[at];
    if (tag !== got[at] || tag === undefined) return false;
    at++;
    // Tags of all known fields are one byte; another one is left to the decoder.
    if (tag >= 0x80) return false;
    const long = lengthOf(known, tag, at);
    if (long === undefined) return false;
    const { headBytes, length } = long;
    for (let i = 0; i < headBytes; i++) if (known[at + i] !== got[at + i]) return false;
    at += headBytes;
    const next = at + length;
    if (next > end) return false;
    if (tag === inner) {
      if (depth >= MAX_NESTING) return false;
      if (!isSame(pair, at, next, of === "health" ? "entry" : "health", of === "health" ? depth : depth + 1))
        return false;
    } else if (of === "entry" || tag !== STATUS_TIME) {
      for (let i = at; i < next; i++) if (known[i] !== got[i]) return false;
    }
    at = next;
  }
  return true;
}

/** How long a field is after its tag: bytes that say so (or are the number itself), and bytes of content. */
function lengthOf(bytes: Uint8Array, tag: number, at: number): { headBytes: number; length: number } | undefined {
  const type = tag & 7;
  if (type === 1) return { headBytes: 0, length: 8 };
  if (type === 5) return { headBytes: 0, length: 4 };
  if (type !== 0 && type !== 2) return undefined;
  let value = 0;
  for (let i = 0, factor = 1; i < 4; i++, factor *= 128) {
    const byte = bytes[at + i] ?? 0;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return { headBytes: i + 1, length: type === 2 ? value : 0 };
  }
  return undefined;
}
