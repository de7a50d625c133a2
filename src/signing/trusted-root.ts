import { createHash, type KeyObject } from "node:crypto";
import { initializeCA, initializeCTLog } from "@sigstore/mock/dist/fulcio/index.js";
import { initializeTSA } from "@sigstore/mock/dist/timestamp/index.js";
import type { AuthorityKeys } from "./keys.ts";

export const REKOR_1_URL = "https://rekor.myriarch.local";
export const REKOR_2_URL = "https://log2.rekor.myriarch.local";
/** Keys count from here on, well before anything that they sign. */
const VALID_FROM = "2024-01-01T00:00:00Z";

export function spki(key: KeyObject): Buffer {
  return key.export({ format: "der", type: "spki" });
}

/** Log id: SHA-256 of the public key. */
export function logId(key: KeyObject): Buffer {
  return createHash("sha256").update(spki(key)).digest();
}

/** The trusted root of an authority as JSON. Its certificates begin now, so it must be made before anything is signed. */
export async function trustedRootOf(keys: AuthorityKeys): Promise<string> {
  const ca = await initializeCA(keys.certificates, await initializeCTLog(keys.certificateLog));
  const tsa = await initializeTSA(keys.timestamps);
  const authority = (uri: string, commonName: string, certificates: readonly ArrayBufferView[]) => ({
    subject: { organization: "myriarch local signing", commonName },
    uri,
    certChain: { certificates: certificates.map((one) => ({ rawBytes: base64(one) })) },
    validFor: { start: VALID_FROM },
  });
  const log = (baseUrl: string, { publicKey }: { publicKey: KeyObject }) => ({
    baseUrl,
    hashAlgorithm: "SHA2_256",
    publicKey: {
      rawBytes: spki(publicKey).toString("base64"),
      keyDetails: "PKIX_ECDSA_P256_SHA_256",
      validFor: { start: VALID_FROM },
    },
    logId: { keyId: logId(publicKey).toString("base64") },
  });
  const root = {
    mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    tlogs: [log(REKOR_1_URL, keys.rekor1), log(REKOR_2_URL, keys.rekor2)],
    certificateAuthorities: [authority("https://fulcio.myriarch.local", "certificates", [ca.rootCertificate])],
    ctlogs: [log("https://ctlog.myriarch.local", keys.certificateLog)],
    timestampAuthorities: [
      authority("https://timestamps.myriarch.local", "timestamps", [tsa.intCertificate, tsa.rootCertificate]),
    ],
  };
  return `${JSON.stringify(root, undefined, 2)}\n`;
}

export function base64(bytes: ArrayBufferView): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
