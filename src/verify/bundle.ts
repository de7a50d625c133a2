/**
 * Reads a Sigstore bundle as far as it is acceptable for a release archive: a known media type, a message signature (an
 * attestation would be accepted by the library whatever the artifact is), a certificate instead of a bare key, and a
 * bounded number of log entries and timestamps (each copy costs a chain verification).
 */
import { X509Certificate as NodeCertificate } from "node:crypto";
import {
  BUNDLE_V01_MEDIA_TYPE,
  BUNDLE_V02_MEDIA_TYPE,
  BUNDLE_V03_LEGACY_MEDIA_TYPE,
  BUNDLE_V03_MEDIA_TYPE,
  bundleFromJSON,
  ValidationError,
  type Bundle,
  type TransparencyLogEntry,
} from "@sigstore/bundle";
import { HashAlgorithm } from "@sigstore/protobuf-specs";
import { Entry } from "@sigstore/protobuf-specs/rekor/v2";
import { failure } from "../domain/errors.ts";
import { printable, readCertificate, type SigningCertificate } from "./certificate.ts";

/** The library matches prefixes, and so takes `…v9.9+json` and `…v0.3+jsonEVIL` for the newest format. */
const MEDIA_TYPES: readonly unknown[] = [
  BUNDLE_V01_MEDIA_TYPE,
  BUNDLE_V02_MEDIA_TYPE,
  BUNDLE_V03_LEGACY_MEDIA_TYPE,
  BUNDLE_V03_MEDIA_TYPE,
];
const MAX_LOG_ENTRIES = 4;
const MAX_TIMESTAMPS = 4;

export type MessageBundle = {
  parsed: Bundle;
  certificate: SigningCertificate;
  /** SHA-256 that the signer signed. */
  digest: Buffer;
  logIndex: string;
};

/** Rules 2 and 3. Throws the `bundle_*` failure of the first rule that the text breaks. */
export function readBundle(json: string): MessageBundle {
  const parsed = parse(json);
  if (parsed.content.$case !== "messageSignature") throw failure("bundle_not_message_signature", undefined);
  const { content, tlogEntries, timestampVerificationData } = parsed.verificationMaterial;
  if (content.$case === "publicKey") throw failure("bundle_no_certificate", undefined);
  const leaf = content.$case === "certificate" ? content.certificate : content.x509CertificateChain.certificates[0];
  if (leaf === undefined) throw failure("bundle_no_certificate", undefined);
  const [first] = tlogEntries;
  if (first === undefined) throw failure("bundle_no_log_entry", undefined);
  if (tlogEntries.length > MAX_LOG_ENTRIES)
    throw failure("bundle_oversized", { what: "log entries", max: MAX_LOG_ENTRIES });
  if ((timestampVerificationData?.rfc3161Timestamps.length ?? 0) > MAX_TIMESTAMPS)
    throw failure("bundle_oversized", { what: "timestamps", max: MAX_TIMESTAMPS });
  const certificate = readCertificate(leaf.rawBytes);
  const { messageDigest } = parsed.content.messageSignature;
  if (messageDigest.algorithm !== HashAlgorithm.SHA2_256) throw failure("bundle_digest_mismatch", undefined);
  return { parsed, certificate, digest: Buffer.from(messageDigest.digest), logIndex: first.logIndex };
}

function parse(json: string): Bundle {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw failure("bundle_malformed", { message: "it is not JSON" }, error);
  }
  const mediaType = typeof value === "object" && value !== null && "mediaType" in value ? value.mediaType : undefined;
  if (!MEDIA_TYPES.includes(mediaType)) throw failure("bundle_malformed", { message: "its media type is unknown" });
  try {
    return bundleFromJSON(value);
  } catch (error) {
    const fields = error instanceof ValidationError ? (error.fields ?? []) : [];
    const message = fields.length > 0 ? `${fields.join(", ")} is missing or unusable` : "a part of it cannot be read";
    throw failure("bundle_malformed", { message: printable(message) }, error);
  }
}

/**
 * Rule 5. Throws `bundle_entry_mismatch` unless the entry is a hashedrekord (0.0.1 or 0.0.2) that names exactly the
 * signer's certificate: signature and digest alone may have been logged by somebody else.
 */
export function checkLogEntry(entry: TransparencyLogEntry, certificate: SigningCertificate): void {
  let logged: Buffer | undefined;
  try {
    logged = loggedCertificate(entry);
  } catch (error) {
    throw failure("bundle_entry_mismatch", undefined, error);
  }
  if (logged === undefined || !logged.equals(certificate.der)) throw failure("bundle_entry_mismatch", undefined);
}

type HashedRekordV1 = { spec?: { signature?: { publicKey?: { content?: string } } } };

function loggedCertificate({ kindVersion, canonicalizedBody }: TransparencyLogEntry): Buffer | undefined {
  const body = JSON.parse(canonicalizedBody.toString("utf8")) as { kind?: unknown; apiVersion?: unknown };
  if (kindVersion.kind !== "hashedrekord" || body.kind !== "hashedrekord") return undefined;
  if (body.apiVersion !== kindVersion.version) return undefined;
  switch (kindVersion.version) {
    case "0.0.1": {
      const pem = (body as HashedRekordV1).spec?.signature?.publicKey?.content ?? "";
      return new NodeCertificate(Buffer.from(pem, "base64")).raw;
    }
    case "0.0.2": {
      const spec = Entry.fromJSON(body).spec?.spec; // the verifier's own parser: both read the same certificate
      const verifier =
        spec?.$case === "hashedRekordV002" ? spec.hashedRekordV002.signature?.verifier?.verifier : undefined;
      return verifier?.$case === "x509Certificate" ? verifier.x509Certificate.rawBytes : undefined;
    }
    default:
      return undefined;
  }
}
