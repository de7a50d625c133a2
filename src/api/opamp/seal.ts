/** Encryption at rest of effective configurations: they hold expanded secrets of hosts (design/opamp, 3.5). */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const VERSION = 1;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const keyFrom = (key: Uint8Array): Buffer =>
  Buffer.from(hkdfSync("sha256", key, "", "myriarch effective configuration v1", 32));

export type Seal = { seal(plain: Uint8Array): Buffer; open(sealed: Uint8Array): Buffer | undefined };

/** `keys`: the first seals, each opens (two during a rotation). `open` answers undefined for what none of them sealed. */
export function createSeal(keys: readonly Uint8Array[]): Seal {
  const derived = keys.map(keyFrom);
  const [first] = derived;
  if (first === undefined) throw new TypeError("sealing needs a key");
  return {
    seal(plain) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv("aes-256-gcm", first, iv);
      const body = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), iv, cipher.getAuthTag(), body]);
    },
    open(sealed) {
      if (sealed[0] !== VERSION || sealed.length < 1 + IV_BYTES + TAG_BYTES) return undefined;
      return derived.map((key) => openWith(key, sealed)).find((plain) => plain !== undefined);
    },
  };
}

function openWith(key: Buffer, sealed: Uint8Array): Buffer | undefined {
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(1, 1 + IV_BYTES));
  decipher.setAuthTag(sealed.subarray(1 + IV_BYTES, 1 + IV_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(1 + IV_BYTES + TAG_BYTES)), decipher.final()]);
  } catch {
    // The tag does not fit: another key sealed it, or the bytes were changed. Either way it cannot be read.
    return undefined;
  }
}
