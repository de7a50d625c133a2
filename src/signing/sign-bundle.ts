/**
 * Makes one signature as the upstream release workflow does: a fresh key, a certificate that names the workflow and its
 * tag, a log entry, a timestamp. Each can be made with one defect, to show that exactly the rule it breaks refuses it.
 */
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { dsse } from "@sigstore/core";
import { initializeCA, initializeCTLog } from "@sigstore/mock/dist/fulcio/index.js";
import { initializeTSA } from "@sigstore/mock/dist/timestamp/index.js";
import { CONTRACT_DEFAULTS } from "../domain/brand.ts";
import { freshKeys, type AuthorityKeys, type KeyPair } from "./keys.ts";
import { hashedRekord, logRekor1, logRekor2, pemOf, type Logged, type SerializedLogEntry } from "./log-entry.ts";
import { base64, spki } from "./trusted-root.ts";

export const RELEASE_REPOSITORY = "https://github.com/open-telemetry/opentelemetry-collector-releases";

/** What is wrong with a signature, and nothing else is. */
export type SigningDefect =
  | "other-bytes"
  | "rewritten-digest"
  | "other-issuer"
  | "foreign-caller"
  | "no-source-repository"
  | "no-certificate-timestamp"
  | "no-log-entry"
  | "no-time"
  | "time-after-expiry"
  | "log-names-other-certificate"
  | "duplicate-log-entry"
  | "unknown-log"
  | "other-root"
  | "attestation"
  | "bare-key"
  | "unknown-media-type"
  | "garbage-certificate"
  | "copied-timestamps"
  | "legacy"
  | "empty";

export type SignOptions = {
  /** Release tag, for example `v0.162.0`. */
  tag: string;
  /** The whole identity; default: upstream's release workflow at `tag`. */
  identity?: string;
  /** Which log is written to, and who signs the time. Default: first-generation log with timestamp, as upstream. */
  form?: "rekor1" | "rekor1-timestamp" | "rekor1-without-promise" | "rekor2-timestamp" | "chain";
  defect?: SigningDefect;
};

type Signing = {
  keys: AuthorityKeys;
  /** Whole seconds: the mock writes fractions as DER wants them, and the verifier's parser does not read those. */
  clock: Date;
  options: SignOptions;
  leaf: KeyPair;
  certificate: Buffer;
};

/** The bytes of a signature over a digest: a bundle, or what the defect makes of it. */
export async function signDigest(ownKeys: AuthorityKeys, digest: Buffer, options: SignOptions): Promise<Buffer> {
  const { defect } = options;
  if (defect === "empty") return Buffer.alloc(0);
  const keys = defect === "other-root" ? freshKeys() : ownKeys;
  const clock = new Date(Math.floor(Date.now() / 1_000) * 1_000);
  const leaf = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const signing = { keys, clock, options, leaf, certificate: await issue(keys, clock, leaf, options) };
  if (defect === "attestation") return serialize(await attest(signing, digest));
  const signed = defect === "other-bytes" || defect === "rewritten-digest" ? hash("other bytes") : digest;
  const signature = Buffer.from(p256.sign(signed, scalar(leaf), { prehash: false, format: "der", lowS: false }));
  if (defect === "legacy") {
    const certificate = Buffer.from(pemOf(signing.certificate)).toString("base64");
    return Buffer.from(`${certificate} ${signature.toString("base64")}`);
  }
  return serialize(await assemble(signing, signed, defect === "rewritten-digest" ? digest : signed, signature));
}

async function assemble(signing: Signing, signed: Buffer, claimed: Buffer, signature: Buffer): Promise<object> {
  const { options, certificate } = signing;
  const rawBytes = options.defect === "garbage-certificate" ? Buffer.from("garbage") : certificate;
  const chain = options.form === "chain";
  return {
    mediaType: mediaTypeOf(options),
    verificationMaterial: {
      ...(options.defect === "bare-key"
        ? { publicKey: { hint: "key" } }
        : chain
          ? { x509CertificateChain: { certificates: [{ rawBytes: rawBytes.toString("base64") }] } }
          : { certificate: { rawBytes: rawBytes.toString("base64") } }),
      tlogEntries: await logEntries(signing, { digest: signed, signature, certificate }),
      timestampVerificationData: { rfc3161Timestamps: await timestamps(signing, signature) },
    },
    messageSignature: {
      messageDigest: { algorithm: "SHA2_256", digest: claimed.toString("base64") },
      signature: signature.toString("base64"),
    },
  };
}

function mediaTypeOf({ form, defect }: SignOptions): string {
  if (defect === "unknown-media-type") return "application/vnd.dev.sigstore.bundle.v9.9+json";
  return form === "chain"
    ? "application/vnd.dev.sigstore.bundle+json;version=0.2"
    : "application/vnd.dev.sigstore.bundle.v0.3+json";
}

async function logEntries(signing: Signing, logged: Logged): Promise<SerializedLogEntry[]> {
  const { keys, clock, options, leaf } = signing;
  const { form, defect } = options;
  if (defect === "no-log-entry") return [];
  const named =
    defect === "log-names-other-certificate"
      ? { ...logged, certificate: await issue(keys, clock, leaf, options) }
      : logged;
  const log = defect === "unknown-log" ? freshKeys() : keys;
  const promise = form !== "rekor1-without-promise" && defect !== "no-time";
  const entry =
    form === "rekor2-timestamp"
      ? logRekor2(log.rekor2, named)
      : await logRekor1(log.rekor1, clock, { kind: "hashedrekord", version: "0.0.1" }, hashedRekord(named), promise);
  return defect === "duplicate-log-entry" ? [entry, entry] : [entry];
}

async function timestamps(
  { keys, clock, options }: Signing,
  signature: Buffer,
): Promise<{ signedTimestamp: string }[]> {
  const { form, defect } = options;
  if (form === "rekor1" || form === "chain" || defect === "no-time") return [];
  const moment = defect === "time-after-expiry" ? new Date(clock.getTime() + 3_600_000) : clock;
  const tsa = await initializeTSA(keys.timestamps, moment);
  const signed = await tsa.timestamp({
    artifactHash: createHash("sha256").update(signature).digest(),
    hashAlgorithmOID: "2.16.840.1.101.3.4.2.1",
    policyOID: "1.3.6.1.4.1.57264.2",
    nonce: 1,
  });
  const one = { signedTimestamp: base64(signed) };
  return defect === "copied-timestamps" ? Array.from({ length: 400 }, () => one) : [one];
}

/** Issues the certificate that the release workflow would get at `tag`. */
async function issue(keys: AuthorityKeys, clock: Date, leaf: KeyPair, options: SignOptions): Promise<Buffer> {
  const { tag, defect } = options;
  const ref = `refs/tags/${tag}`;
  const identity = options.identity ?? `${RELEASE_REPOSITORY}/.github/workflows/base-release.yaml@${ref}`;
  const own = /^https:\/\/[^/]+\/[^/]+\/[^/]+/.exec(identity)?.[0] ?? identity;
  const caller = defect === "foreign-caller" ? "https://github.com/somebody/else" : own;
  const issuer = CONTRACT_DEFAULTS.oidcIssuer + (defect === "other-issuer" ? ".example" : "");
  const text = (number: number, value: string, legacy = false) => ({
    oid: `1.3.6.1.4.1.57264.1.${number}`,
    value,
    legacy,
  });
  const log = defect === "no-certificate-timestamp" ? undefined : await initializeCTLog(keys.certificateLog, clock);
  const ca = await initializeCA(keys.certificates, log, clock);
  const issued = await ca.issueCertificate({
    publicKey: Uint8Array.from(spki(leaf.publicKey)),
    subjectAltName: identity,
    extensions: [
      text(1, issuer, true),
      text(5, new URL(caller).pathname.slice(1), true),
      text(6, ref, true),
      text(8, issuer),
      text(9, identity),
      text(11, "github-hosted"),
      ...(defect === "no-source-repository" ? [] : [text(12, caller)]),
      text(14, ref),
      text(18, `${caller}/.github/workflows/release-contrib.yaml@${ref}`),
    ],
  });
  return Buffer.from(issued.buffer, issued.byteOffset, issued.byteLength);
}

/** A well-formed attestation of the artifact: what the library would accept for any artifact at all. */
async function attest(signing: Signing, digest: Buffer): Promise<object> {
  const { keys, clock, leaf, certificate } = signing;
  const payloadType = "application/vnd.in-toto+json";
  const payload = Buffer.from(
    JSON.stringify({
      _type: "https://in-toto.io/Statement/v1",
      subject: [{ name: "archive", digest: { sha256: digest.toString("hex") } }],
      predicateType: "https://slsa.dev/provenance/v1",
      predicate: {},
    }),
  );
  const signature = sign("sha256", dsse.preAuthEncoding(payloadType, payload), leaf.privateKey);
  const envelope = {
    payload: payload.toString("base64"),
    payloadType,
    signatures: [{ sig: signature.toString("base64") }],
  };
  const proposed = {
    apiVersion: "0.0.1",
    kind: "dsse",
    spec: {
      envelopeHash: { algorithm: "sha256", value: hash(JSON.stringify(envelope)).toString("hex") },
      payloadHash: { algorithm: "sha256", value: hash(payload).toString("hex") },
      signatures: [
        { signature: signature.toString("base64"), verifier: Buffer.from(pemOf(certificate)).toString("base64") },
      ],
    },
  };
  return {
    mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
    verificationMaterial: {
      certificate: { rawBytes: certificate.toString("base64") },
      tlogEntries: [await logRekor1(keys.rekor1, clock, { kind: "dsse", version: "0.0.1" }, proposed, true)],
      timestampVerificationData: { rfc3161Timestamps: [] },
    },
    dsseEnvelope: envelope,
  };
}

function hash(bytes: string | Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}

function scalar({ privateKey }: KeyPair): Uint8Array {
  return Buffer.from(privateKey.export({ format: "jwk" }).d ?? "", "base64url");
}

function serialize(bundle: object): Buffer {
  return Buffer.from(JSON.stringify(bundle));
}
