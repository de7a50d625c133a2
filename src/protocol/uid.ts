/** Instance UIDs: 16 bytes on the wire, UUID text in lower case everywhere else. */

const TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");

const dashed = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;

/** UUID text of 16 bytes; undefined for another length and for the all-zero UID, which names nobody. */
export function uidFromBytes(bytes: Uint8Array): string | undefined {
  if (bytes.length !== 16 || bytes.every((byte) => byte === 0)) return undefined;
  return dashed(hexOf(bytes));
}

/** The 16 bytes of a UUID text. Throws a RangeError for anything else: callers only pass texts that were checked. */
export function uidToBytes(text: string): Uint8Array {
  if (!TEXT.test(text)) throw new RangeError("not a UUID");
  return Uint8Array.from(Buffer.from(text.replaceAll("-", ""), "hex"));
}

/** Canonical text of a UUID written by somebody else (upper case, blanks around it); undefined if it is none. */
export function readUid(text: string): string | undefined {
  const trimmed = text.trim().toLowerCase();
  return TEXT.test(trimmed) && /[1-9a-f]/.test(trimmed) ? trimmed : undefined;
}

/** A UUIDv7 of this instant. `random` are 10 bytes of chance. */
export function uuidV7(nowMs: number, random: Uint8Array): string {
  const bytes = new Uint8Array(16);
  for (let i = 0, rest = BigInt(nowMs); i < 6; i++, rest >>= 8n) bytes[5 - i] = Number(rest & 0xffn);
  bytes.set(random.subarray(0, 10), 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return dashed(hexOf(bytes));
}
