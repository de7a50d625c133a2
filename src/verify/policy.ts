/**
 * What a signature must prove: whose identity, issued by whom, under which root of trust.
 * A root is judged once when it is read; a root that lacks a part would silently weaken every later verdict.
 */
import { readFile, stat } from "node:fs/promises";
import { TrustedRoot } from "@sigstore/protobuf-specs";
import { toTrustMaterial, type TrustMaterial } from "@sigstore/verify";
import { failure } from "../domain/errors.ts";

/** An RE2 pattern (anchored, see `domain/identity-pattern.ts`) or the whole identity. */
export type IdentityRule = { pattern: string } | { exact: string };

export type SigningPolicy = { trust: TrustMaterial; identity: IdentityRule; issuer: string };

/** A root is some 6 kB; whoever names a larger file named the wrong one. */
const MAX_ROOT_BYTES = 4 * 1024 ** 2;
const ROOT_MEDIA_TYPES: readonly string[] = [
  "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
  "application/vnd.dev.sigstore.trustedroot.v0.1+json",
  "application/vnd.dev.sigstore.trustedroot.v0.2+json",
];

/**
 * Reads a trusted root for offline verification.
 * Throws `trusted_root_unreadable` when the file is absent, too large, not JSON, or not a complete root.
 */
export async function loadTrustedRoot(file: string): Promise<TrustMaterial> {
  let text: string;
  try {
    const { size } = await stat(file);
    if (size > MAX_ROOT_BYTES) throw new Error(`it is larger than ${MAX_ROOT_BYTES} bytes`);
    text = await readFile(file, "utf8");
  } catch (error) {
    throw failure("trusted_root_unreadable", { message: reasonOf(error) }, error);
  }
  return parseTrustedRoot(text);
}

/**
 * The trust material of a trusted root. Throws `trusted_root_unreadable` unless the media type is known, certificate
 * authorities, transparency logs and certificate logs are present, and each log key says from when on it is valid (the
 * library reads a missing start as 1970 and so accepts a key for all of time).
 */
export function parseTrustedRoot(text: string): TrustMaterial {
  let root: TrustedRoot;
  try {
    root = TrustedRoot.fromJSON(JSON.parse(text) as unknown);
  } catch (error) {
    throw failure("trusted_root_unreadable", { message: reasonOf(error) }, error);
  }
  return trustOf(root);
}

/** The same for a root that was read already. */
export function trustOf(root: TrustedRoot): TrustMaterial {
  try {
    const gaps = gapsOf(root);
    if (gaps.length > 0) throw new Error(gaps.join("; "));
    return toTrustMaterial(root);
  } catch (error) {
    throw failure("trusted_root_unreadable", { message: reasonOf(error) }, error);
  }
}

function gapsOf(root: TrustedRoot): string[] {
  const logs = [...root.tlogs, ...root.ctlogs];
  return [
    ...(ROOT_MEDIA_TYPES.includes(root.mediaType) ? [] : ["its media type is unknown"]),
    ...(root.certificateAuthorities.length > 0 ? [] : ["it names no certificate authority"]),
    ...(root.tlogs.length > 0 ? [] : ["it names no transparency log"]),
    ...(root.ctlogs.length > 0 ? [] : ["it names no certificate transparency log"]),
    ...(logs.every((log) => log.publicKey?.validFor?.start !== undefined) ? [] : ["a log key has no validity start"]),
  ];
}

/** The reason alone: a system error's own text would repeat the path in a place where only the rule matters. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "it is not readable";
  const { code } = error as NodeJS.ErrnoException;
  return code?.startsWith("E") ? code : error.message.slice(0, 300);
}
