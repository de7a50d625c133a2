/**
 * A look at an AgentToServer frame without decoding it: enough to recognise a heartbeat, or a health report equal to the
 * last one, which is nearly everything that agents send. Whatever is unusual is left to the full decoder.
 */
export type Scan = {
  /** Offset of the 16 bytes of the instance UID; -1: absent or of another length. */
  uidAt: number;
  /** Undefined when it does not fit a double exactly. */
  sequenceNum: number | undefined;
  capabilities: number | undefined;
  /** Where the health sub-message is; -1: absent. */
  healthAt: number;
  healthEnd: number;
  /** Nothing but UID, sequence number, capabilities, and at most one health report. */
  plain: boolean;
};

const LARGEST_EXACT = 2 ** 49;

/** Scans a frame; undefined when it is cut or not of our form. The result says where things are, not that they are right. */
export function scanAgentToServer(frame: Uint8Array): Scan | undefined {
  const reader: Reader = { frame, at: frame[0] === 0 ? 1 : 0 };
  const scan: Scan = { uidAt: -1, sequenceNum: 0, capabilities: 0, healthAt: -1, healthEnd: -1, plain: true };
  while (reader.at < frame.length) {
    const tag = varint(reader);
    if (tag === undefined || !scanField(scan, reader, tag)) return undefined;
  }
  return scan;
}

type Reader = { frame: Uint8Array; at: number };

/** False when the field cannot be skipped. */
function scanField(scan: Scan, reader: Reader, tag: number): boolean {
  const type = tag & 7;
  if (type === 0) {
    const value = varint(reader);
    if (tag === 0x10) scan.sequenceNum = value;
    else if (tag === 0x20) scan.capabilities = value;
    else scan.plain = false;
    return value !== undefined;
  }
  const length = type === 2 ? varint(reader) : type === 1 ? 8 : type === 5 ? 4 : undefined;
  if (length === undefined || reader.at + length > reader.frame.length) return false;
  if (tag === 0x0a && length === 16 && scan.uidAt === -1) scan.uidAt = reader.at;
  else if (tag === 0x2a && scan.healthAt === -1) {
    scan.healthAt = reader.at;
    scan.healthEnd = reader.at + length;
  } else scan.plain = false;
  reader.at += length;
  return true;
}

/** Undefined when it is cut, or too large to be exact. */
function varint(reader: Reader): number | undefined {
  let value = 0;
  for (let factor = 1; factor <= LARGEST_EXACT; factor *= 128) {
    const byte = reader.frame[reader.at++];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
  }
  return undefined;
}
