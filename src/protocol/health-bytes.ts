/**
 * Two health reports as they lie in frames, compared without decoding them. Collectors send the same report again and again
 * with new status times: decoding one of 24 components costs ten times what this look at it does.
 */
import { MAX_NESTING } from "./wire.ts";

/** ComponentHealth.status_time_unix_nano: field 5, fixed64. */
const STATUS_TIME = 0x29;
const TIME_BYTES = 8;
/** ComponentHealth.component_health_map: field 6; its entries have the component's health in field 2. */
const COMPONENT = 0x32;
const ENTRY_VALUE = 0x12;

/** Where the times are in a report that was seen before. */
const timesOf = new WeakMap<Buffer, readonly number[]>();
let scratch = Buffer.alloc(4_096);

/**
 * True when both are the same but for the times of statuses, at any level: nothing else that they say differs. False also
 * whenever this cannot be seen at once. `known` was decoded before, so what is like it is well-formed; from then on nothing
 * but those times may change in it.
 */
export function isSameButTimes(known: Buffer, got: Buffer): boolean {
  if (known.length !== got.length) return false;
  let times = timesOf.get(known);
  if (times === undefined) {
    times = findTimes(known);
    timesOf.set(known, times);
  }
  if (scratch.length < known.length) scratch = Buffer.alloc(2 * known.length);
  known.copy(scratch);
  for (const at of times) for (let i = at; i < at + TIME_BYTES; i++) scratch[i] = got[i] ?? 0;
  return scratch.compare(got, 0, got.length, 0, got.length) === 0;
}

/** None where the bytes are not understood at once: then only equal ones are the same. */
function findTimes(report: Buffer): readonly number[] {
  const times: number[] = [];
  return collect(report, 0, report.length, "health", 0, times) ? times : [];
}

function collect(
  report: Buffer,
  from: number,
  end: number,
  of: "health" | "entry",
  depth: number,
  times: number[],
): boolean {
  const inner = of === "health" ? COMPONENT : ENTRY_VALUE;
  let at = from;
  while (at < end) {
    const tag = report[at] ?? 0;
    const content = contentAt(report, at);
    const next = content + contentBytes(report, at, content);
    if (!(next <= end)) return false;
    if (tag === inner) {
      if (depth > 2 * MAX_NESTING) return false;
      if (!collect(report, content, next, of === "health" ? "entry" : "health", depth + 1, times)) return false;
    } else if (of === "health" && tag === STATUS_TIME) times.push(content);
    at = next;
  }
  return true;
}

/** Where the content of the field at `at` begins; that of a number is nothing, its bytes stand where lengths do. */
function contentAt(bytes: Buffer, at: number): number {
  const type = (bytes[at] ?? 0) & 7;
  if (type === 1 || type === 5) return at + 1;
  let i = at + 1;
  while ((bytes[i] ?? 0) >= 0x80) i++;
  return i + 1;
}

/** Bytes of content; not a number for what is left to the decoder: tags of two bytes, long lengths, groups. */
function contentBytes(bytes: Buffer, at: number, content: number): number {
  const tag = bytes[at] ?? 0;
  if (tag >= 0x80) return Number.NaN;
  switch (tag & 7) {
    case 0:
      return 0;
    case 1:
      return 8;
    case 5:
      return 4;
    case 2: {
      const first = bytes[at + 1] ?? 0;
      if (content === at + 2) return first;
      return content === at + 3 ? (first & 0x7f) + 128 * (bytes[at + 2] ?? 0) : Number.NaN;
    }
    default:
      return Number.NaN;
  }
}
