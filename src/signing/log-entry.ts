/**
 * Entries of the two kinds of transparency log, as they stand in a bundle (proto JSON). They are written by hand: proto
 * JSON drops zero values, and other clients require `logIndex: "0"`; the mock's second-generation body is the request,
 * which nothing can verify.
 */
import { createHash, sign } from "node:crypto";
import { initializeTLog } from "@sigstore/mock/dist/rekor/index.js";
import { json } from "@sigstore/core";
import type { KeyPair } from "./keys.ts";
import { logId, REKOR_1_URL, REKOR_2_URL } from "./trusted-root.ts";

export type SerializedLogEntry = {
  logIndex: string;
  logId: { keyId: string };
  kindVersion: { kind: string; version: string };
  integratedTime?: string;
  inclusionPromise?: { signedEntryTimestamp: string };
  inclusionProof: {
    logIndex: string;
    rootHash: string;
    treeSize: string;
    hashes: string[];
    checkpoint: { envelope: string };
  };
  canonicalizedBody: string;
};

/** What the mock's log answers; its own declaration names a package that it does not bring along. */
type LogAnswer = {
  body: string;
  integratedTime: number;
  logIndex: number;
  verification: {
    signedEntryTimestamp: string;
    inclusionProof: { checkpoint: string; hashes: string[]; logIndex: number; rootHash: string; treeSize: number };
  };
};

/** What is logged: a digest, its signature, and the certificate (DER) that the entry names. */
export type Logged = { digest: Buffer; signature: Buffer; certificate: Buffer };

export function pemOf(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

/** The proposed entry for a first-generation log. */
export function hashedRekord({ digest, signature, certificate }: Logged): object {
  return {
    apiVersion: "0.0.1",
    kind: "hashedrekord",
    spec: {
      data: { hash: { algorithm: "sha256", value: digest.toString("hex") } },
      signature: {
        content: signature.toString("base64"),
        publicKey: { content: Buffer.from(pemOf(certificate)).toString("base64") },
      },
    },
  };
}

/** Logs in a first-generation log; without `promise` the entry carries no signed time. */
export async function logRekor1(
  keys: KeyPair,
  clock: Date,
  kindVersion: { kind: string; version: string },
  proposed: object,
  promise: boolean,
): Promise<SerializedLogEntry> {
  const log = await initializeTLog(REKOR_1_URL, keys, clock);
  const [entry] = Object.values((await log.log(proposed)) as Record<string, LogAnswer>);
  if (entry === undefined) throw new Error("the log returned no entry");
  const { inclusionProof: proof, signedEntryTimestamp } = entry.verification;
  return {
    logIndex: String(entry.logIndex),
    logId: { keyId: logId(keys.publicKey).toString("base64") },
    kindVersion,
    integratedTime: String(entry.integratedTime),
    ...(promise ? { inclusionPromise: { signedEntryTimestamp } } : {}),
    inclusionProof: {
      logIndex: String(proof.logIndex),
      rootHash: Buffer.from(proof.rootHash, "hex").toString("base64"),
      treeSize: String(proof.treeSize),
      hashes: proof.hashes,
      checkpoint: { envelope: proof.checkpoint },
    },
    canonicalizedBody: entry.body,
  };
}

/** Logs in a second-generation log (no signed time, no promise): the first and only entry of its tree. */
export function logRekor2(keys: KeyPair, { digest, signature, certificate }: Logged): SerializedLogEntry {
  const record = {
    data: { algorithm: "SHA2_256", digest: digest.toString("base64") },
    signature: {
      content: signature.toString("base64"),
      verifier: {
        keyDetails: "PKIX_ECDSA_P256_SHA_256",
        x509Certificate: { rawBytes: certificate.toString("base64") },
      },
    },
  };
  const body = { apiVersion: "0.0.2", kind: "hashedrekord", spec: { hashedRekordV002: record } };
  const canonical = Buffer.from(json.canonicalize(body));
  const rootHash = createHash("sha256").update(Buffer.of(0)).update(canonical).digest();
  const id = logId(keys.publicKey);
  const origin = new URL(REKOR_2_URL).host;
  const note = `${origin}\n1\n${rootHash.toString("base64")}\n`;
  const hinted = Buffer.concat([id.subarray(0, 4), sign("sha256", Buffer.from(note), keys.privateKey)]);
  return {
    logIndex: "0",
    logId: { keyId: id.toString("base64") },
    kindVersion: { kind: "hashedrekord", version: "0.0.2" },
    inclusionProof: {
      logIndex: "0",
      rootHash: rootHash.toString("base64"),
      treeSize: "1",
      hashes: [],
      checkpoint: { envelope: `${note}\n\u2014 ${origin} ${hinted.toString("base64")}\n` },
    },
    canonicalizedBody: canonical.toString("base64"),
  };
}
