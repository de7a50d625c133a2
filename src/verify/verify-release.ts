/** An archive of a release against the server's signing policy: the same judgement for what is fetched and what is uploaded. */
import { failure } from "../domain/errors.ts";
import { loadTrustedRoot } from "./policy.ts";
import { readSignature, verifyArtifactSignature } from "./signature.ts";

export type SigningSettings = {
  trustedRootFile: string;
  certificateIdentityRegexp: string;
  certificateOidcIssuer: string;
};
/** What the signature proved; kept with the artifact and shown. */
export type Proof = { identity: string; issuer: string; repository: string; logIndex: string; signedAt: string[] };

/**
 * The bundle signs this digest, by the accepted identity, for this version. Needs no archive: whoever has only the digest
 * that it should have may ask before a gigabyte is moved. Throws the code of the rule that failed (`verify/signature`).
 */
export async function verifyRelease(
  settings: SigningSettings,
  { sha256, bundle, version }: { sha256: string; bundle: string; version: string },
): Promise<Proof> {
  const verdict = verifyArtifactSignature({
    signature: readSignature(Buffer.from(bundle, "utf8")),
    sha256Hex: sha256,
    policy: {
      trust: await loadTrustedRoot(settings.trustedRootFile),
      identity: { pattern: settings.certificateIdentityRegexp },
      issuer: settings.certificateOidcIssuer,
    },
    version,
    required: true,
  });
  if (verdict.kind !== "verified") throw failure("signature_missing", undefined);
  const { identity, issuer, repository, logIndex, signedAt } = verdict;
  return { identity, issuer, repository, logIndex, signedAt };
}
