/**
 * Download tokens (contract, "Download tokens"): a signed value bound to one artifact and one updater agent. That it
 * still counts (open offer, age) is decided where it is used; here is only that we issued it, and for what.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

export type DownloadClaims = { artifact: string; agent: string; issuedAtMs: number };

/** Keeps these signatures apart from sessions and whatever else the same key signs. */
const PURPOSE = "myriarch download token v1\n";
const VERSION = 1;
const BODY_BYTES = 1 + 16 + 16 + 8;
const MAC_BYTES = 32;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** A token for `claims`, signed with `key` (the first of `secrets.keyFile`). The same claims give the same token. */
export function mintDownloadToken(key: Uint8Array, { artifact, agent, issuedAtMs }: DownloadClaims): string {
  const body = Buffer.alloc(BODY_BYTES);
  body.writeUInt8(VERSION, 0);
  uuidBytes(artifact).copy(body, 1);
  uuidBytes(agent).copy(body, 17);
  body.writeBigUInt64BE(BigInt(issuedAtMs), 33);
  return Buffer.concat([body, sign(key, body)]).toString("base64url");
}

/** The claims of a token that one of `keys` signed (two during a rotation); undefined for anything else. */
export function readDownloadToken(keys: readonly Uint8Array[], token: string): DownloadClaims | undefined {
  if (!/^[\w-]{1,200}$/.test(token)) return undefined;
  const bytes = Buffer.from(token, "base64url");
  if (bytes.length !== BODY_BYTES + MAC_BYTES || bytes.toString("base64url") !== token) return undefined;
  const body = bytes.subarray(0, BODY_BYTES);
  const mac = bytes.subarray(BODY_BYTES);
  // every key is tried, so that the time says nothing about which one fitted
  const fits = keys.map((key) => timingSafeEqual(sign(key, body), mac)).includes(true);
  if (!fits || body.readUInt8(0) !== VERSION) return undefined;
  return {
    artifact: uuidText(body.subarray(1, 17)),
    agent: uuidText(body.subarray(17, 33)),
    issuedAtMs: Number(body.readBigUInt64BE(33)),
  };
}

const sign = (key: Uint8Array, body: Uint8Array): Buffer =>
  createHmac("sha256", key).update(PURPOSE).update(body).digest();

function uuidBytes(uuid: string): Buffer {
  if (!UUID.test(uuid.toLowerCase())) throw new TypeError("a download token is bound to uuids");
  return Buffer.from(uuid.replaceAll("-", ""), "hex");
}

const uuidText = (bytes: Buffer): string =>
  bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
