/**
 * What a Fulcio certificate says about its signer. Reading only: whether the certificate may be trusted is decided by
 * the chain, the logs and the timestamps (see `signature.ts`).
 */
import { X509Certificate as NodeCertificate, type KeyObject } from "node:crypto";
import { X509Certificate } from "@sigstore/core";
import { failure } from "../domain/errors.ts";

/** Extensions of certificates issued by Fulcio (https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md). */
const OID_ISSUER_RAW = "1.3.6.1.4.1.57264.1.1";
const OID_ISSUER = "1.3.6.1.4.1.57264.1.8";
const OID_SOURCE_REPOSITORY = "1.3.6.1.4.1.57264.1.12";
const TAG_UTF8_STRING = 0x0c;
/** The identity is chosen by the signer; a workflow's is some 130 characters. */
const MAX_IDENTITY_CHARS = 512;

export type SigningCertificate = { der: Buffer; publicKey: KeyObject; parsed: X509Certificate };

/** Parses the leaf. Throws `bundle_malformed` for anything that is not a certificate, and refuses other keys by name. */
export function readCertificate(raw: Uint8Array): SigningCertificate {
  const der = Buffer.from(raw);
  let certificate: SigningCertificate;
  try {
    const { publicKey, raw: whole } = new NodeCertificate(der);
    if (!whole.equals(der)) throw new Error("trailing bytes");
    certificate = { der, publicKey, parsed: X509Certificate.parse(der) };
  } catch (error) {
    throw failure("bundle_malformed", { message: "the certificate cannot be read" }, error);
  }
  const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey;
  if (asymmetricKeyType !== "ec" || asymmetricKeyDetails?.namedCurve !== "prime256v1")
    throw failure("bundle_key_unsupported", {
      key: asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType ?? "unknown",
    });
  return certificate;
}

/**
 * The one identity of the certificate. Throws `identity_mismatch` unless it has exactly one subject alternative name and
 * that is a URI of at most 512 characters: with several names of several kinds, readers disagree on which one counts.
 */
export function identityOf({ der, parsed }: SigningCertificate): string {
  const names = new NodeCertificate(der).subjectAltName ?? "";
  const uri = parsed.extSubjectAltName?.uri;
  if (uri === undefined || names !== `URI:${uri}` || uri.length > MAX_IDENTITY_CHARS)
    throw failure("identity_mismatch", { identity: printable(names) || "without a name" });
  return uri;
}

/** The identity provider that vouched for the signer; "" when the certificate does not say. */
export function issuerOf({ parsed }: SigningCertificate): string {
  return utf8Extension(parsed, OID_ISSUER) ?? parsed.extension(OID_ISSUER_RAW)?.value.toString("utf8") ?? "";
}

/** The repository whose run signed, as its URI; undefined when the certificate does not say. */
export function sourceRepositoryOf({ parsed }: SigningCertificate): string | undefined {
  return utf8Extension(parsed, OID_SOURCE_REPOSITORY);
}

function utf8Extension(certificate: X509Certificate, oid: string): string | undefined {
  const content = certificate.extension(oid)?.valueObj.subs[0];
  return content?.tag.number === TAG_UTF8_STRING ? content.value.toString("utf8") : undefined;
}

/** Text from outside for one line of a message: no control characters, bounded. */
export function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, MAX_IDENTITY_CHARS);
}
