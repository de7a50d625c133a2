/**
 * Judges the signature of an artifact (contract, "Signature verification"). The order of the rules:
 *
 * 1. the text: empty, a Sigstore bundle, or the legacy form that is refused
 * 2. the bundle: a known media type, and well-formed
 * 3. only a message signature, by a certificate, with a bounded number of log entries and timestamps
 * 4. the signed digest is the digest computed from the download
 * 5. every log entry names this very certificate
 * 6. certificate chain, certificate log, transparency log, observer timestamp and signature verify under the root
 * 7. exactly one identity, a URI
 * 8. that identity is the accepted one, of this version, and the signing run belongs to the identity's own repository
 *
 * Rules 3, 5, 7 and 8 are ours because the library has none of them: it ignores the artifact for attestations, does not
 * compare the logged certificate with the signer's, and searches for identity patterns anywhere in the identity.
 * Whatever goes wrong inside, callers see one `Failure` with the code of the rule.
 */
import { timingSafeEqual, type KeyObject } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { toSignedEntity, VerificationError, Verifier, type SignedEntity, type TrustMaterial } from "@sigstore/verify";
import { failure, isFailure } from "../domain/errors.ts";
import { compilePattern } from "../domain/identity-pattern.ts";
import { checkLogEntry, readBundle, type MessageBundle } from "./bundle.ts";
import { identityOf, issuerOf, printable, sourceRepositoryOf, type SigningCertificate } from "./certificate.ts";
import type { IdentityRule, SigningPolicy } from "./policy.ts";

export type Signature = { kind: "bundle"; json: string } | { kind: "legacy" } | { kind: "none" };

export type SignatureVerdict =
  | {
      kind: "verified";
      /** Workflow that signed, with its tag. */
      identity: string;
      issuer: string;
      repository: string;
      /** Index of the first log entry. */
      logIndex: string;
      /** The verified times, ISO 8601. */
      signedAt: string[];
    }
  | { kind: "unsigned" };

export type ArtifactSignature = {
  signature: Signature;
  /** SHA-256 computed from the bytes at hand, 64 hexadecimal characters. */
  sha256Hex: string;
  policy: SigningPolicy;
  /** The release that the signature must be of, without `v`. Absent: any release that the policy's identity allows. */
  version?: string | undefined;
  /** Whether an absent signature is refused. A wrong one always is. */
  required: boolean;
};

/** Bundles seen in the field have at most 16 kB. */
const MAX_SIGNATURE_BYTES = 256 * 1024;
const OPENING_BRACE = 0x7b;
const SHA256_HEX = /^[0-9a-f]{64}$/i;
const VERSION = /^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/;

/** Sorts a signature by its first byte. Throws `bundle_oversized` above 256 KiB and `bundle_malformed` for bad UTF-8. */
export function readSignature(raw: Uint8Array): Signature {
  if (raw.length === 0) return { kind: "none" };
  if (raw[0] !== OPENING_BRACE) return { kind: "legacy" };
  if (raw.length > MAX_SIGNATURE_BYTES) throw failure("bundle_oversized", { what: "bytes", max: MAX_SIGNATURE_BYTES });
  try {
    return { kind: "bundle", json: new TextDecoder("utf-8", { fatal: true }).decode(raw) };
  } catch (error) {
    throw failure("bundle_malformed", { message: "it is not UTF-8" }, error);
  }
}

/**
 * The verdict over one artifact's signature. "unsigned" is possible only when `required` is false.
 * Throws a `Failure` with the code of the rule that was broken (`signature_*`, `bundle_*`, `identity_*`,
 * `issuer_mismatch`), and never anything else.
 */
export function verifyArtifactSignature(artifact: ArtifactSignature): SignatureVerdict {
  const { signature, required } = artifact;
  if (signature.kind === "legacy") throw failure("signature_legacy", undefined);
  if (signature.kind === "bundle") return judgeBundle(signature.json, artifact);
  if (required) throw failure("signature_missing", undefined);
  return { kind: "unsigned" };
}

function judgeBundle(json: string, artifact: ArtifactSignature): SignatureVerdict {
  try {
    return applyRules(json, artifact);
  } catch (error) {
    if (isFailure(error)) throw error;
    throw failure("bundle_malformed", { message: "a part of it cannot be read" }, error);
  }
}

/** Rules 2 to 8, in their order. */
function applyRules(json: string, { sha256Hex, policy, version }: ArtifactSignature): SignatureVerdict {
  const accepts = identityTest(policy.identity);
  const bundle = readBundle(json);
  const digest = digestOf(sha256Hex);
  if (!sameBytes(bundle.digest, digest)) throw failure("bundle_digest_mismatch", undefined);
  for (const entry of bundle.parsed.verificationMaterial.tlogEntries) checkLogEntry(entry, bundle.certificate);
  const signedAt = verifyUnderRoot(bundle, digest, policy);
  const issuer = issuerOf(bundle.certificate);
  if (issuer !== policy.issuer) throw failure("issuer_mismatch", { issuer: printable(issuer) || "no issuer" });
  const identity = identityOf(bundle.certificate);
  if (!accepts(identity)) throw failure("identity_mismatch", { identity: printable(identity) });
  if (version !== undefined) checkVersion(identity, version);
  const repository = checkRepository(identity, bundle.certificate);
  return { kind: "verified", identity, issuer, repository, logIndex: bundle.logIndex, signedAt };
}

function identityTest(rule: IdentityRule): (identity: string) => boolean {
  return "exact" in rule ? (identity) => identity === rule.exact : compilePattern(rule.pattern);
}

/** A pattern accepts any release tag; the version pins the one that was asked for, so that no other can be replayed. */
function checkVersion(identity: string, version: string): void {
  if (!VERSION.test(version) || !identity.endsWith(`@refs/tags/v${version}`))
    throw failure("identity_version_mismatch", { identity: printable(identity), version: printable(version) });
}

/**
 * A reusable workflow gives its own identity to any repository that calls it, and runs scripts of the caller. Only the
 * source repository in the certificate tells them apart.
 */
function checkRepository(identity: string, certificate: SigningCertificate): string {
  const own = /^https:\/\/github\.com\/[^/]+\/[^/]+(?=\/)/.exec(identity)?.[0];
  const source = sourceRepositoryOf(certificate);
  if (own === undefined || source !== own) throw failure("identity_repository_mismatch", undefined);
  return own;
}

/** Also what an operator sees whose root file is older than the keys of the logs. */
const UNKNOWN_LOG = "unknown log: root may be outdated";

/** Rule 6. Returns the verified times. */
function verifyUnderRoot(bundle: MessageBundle, digest: Buffer, policy: SigningPolicy): string[] {
  if (!knowsLogs(bundle, policy.trust)) throw failure("bundle_untrusted", { message: UNKNOWN_LOG });
  try {
    const entity = toSignedEntity(bundle.parsed);
    const verifier = new Verifier(policy.trust, { ctlogThreshold: 1, tlogThreshold: 1, timestampThreshold: 1 });
    verifier.verify({ ...entity, signature: overDigest(entity.signature, digest) });
    return observedTimes(entity);
  } catch (error) {
    if (isFailure(error)) throw error;
    throw untrusted(error);
  }
}

/** The library verifies only whole files in memory; a digest is enough, and is what the caller computed while writing. */
function overDigest(content: SignedEntity["signature"], digest: Buffer): SignedEntity["signature"] {
  return {
    signature: content.signature,
    compareSignature: (signature) => content.compareSignature(signature),
    compareDigest: (other) => content.compareDigest(other),
    compareSignedDigest: (other) => content.compareSignedDigest(other),
    verifySignature: (key) => verifyOverDigest(key, content.signature, digest),
  };
}

/** Whether the root names every log, of entries and of certificates, that the bundle speaks of. */
function knowsLogs({ parsed, certificate }: MessageBundle, { tlogs, ctlogs }: TrustMaterial): boolean {
  const knows = (logs: TrustMaterial["tlogs"], id: Uint8Array | undefined): boolean =>
    id !== undefined && logs.some(({ logID }) => logID.equals(id));
  const entries = parsed.verificationMaterial.tlogEntries.map(({ logId }) => logId?.keyId);
  const timestamps = certificate.parsed.extSCT?.signedCertificateTimestamps.map(({ logID }) => logID) ?? [];
  return entries.every((id) => knows(tlogs, id)) && timestamps.every((id) => knows(ctlogs, id));
}

/** ECDSA over a digest. OpenSSL signs with high S in half of the cases, hence `lowS: false`. */
function verifyOverDigest(key: KeyObject, signature: Buffer, digest: Buffer): boolean {
  const { x, y } = key.export({ format: "jwk" });
  if (x === undefined || y === undefined) return false;
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  return p256.verify(signature, digest, point, { prehash: false, format: "der", lowS: false });
}

/** Times that count: a log's, when the log signed it (inclusion promise), and those of timestamp authorities. */
function observedTimes({ timestamps }: SignedEntity): string[] {
  return timestamps.flatMap((one) => {
    if (one.$case === "timestamp-authority") return [one.timestamp.tstInfo.genTime.toISOString()];
    const { inclusionPromise, integratedTime } = one.tlogEntry;
    return inclusionPromise ? [new Date(Number(integratedTime) * 1_000).toISOString()] : [];
  });
}

function untrusted(error: unknown) {
  if (!(error instanceof VerificationError))
    return failure("bundle_untrusted", { message: "a part of it cannot be read" }, error);
  if (error.message.startsWith("expected 1 SCTs")) return failure("bundle_no_certificate_timestamp", undefined, error);
  if (error.message.startsWith("expected 1 timestamps")) return failure("bundle_no_timestamp", undefined, error);
  return failure("bundle_untrusted", { message: printable(error.message) }, error);
}

function digestOf(sha256Hex: string): Buffer {
  if (!SHA256_HEX.test(sha256Hex)) throw failure("bundle_digest_mismatch", undefined);
  return Buffer.from(sha256Hex, "hex");
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
