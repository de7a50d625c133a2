/**
 * A local signing authority: certificate authority, certificate log, both kinds of transparency log and timestamp
 * authority. It signs archives for tests and for the quickstart the way the upstream release workflow does, so that
 * server and hosts verify them by the very code that verifies real releases. Its root is only ever used where somebody
 * names it as trusted root file; it is never merged with the public one.
 */
import { join } from "node:path";
import { hashFile } from "../verify/hash-file.ts";
import { openKeys, readIfPresent, writeWhole } from "./keys.ts";
import { signDigest, type SignOptions } from "./sign-bundle.ts";
import { trustedRootOf } from "./trusted-root.ts";

export type SigningAuthority = {
  /** JSON for a `trustedRootFile`. */
  trustedRoot(): string;
  /** Where that JSON lies, when the authority has a folder. */
  trustedRootFile: string;
  /** Signs a file, or a digest given as `sha256:<hex>`; returns the bytes of its `.sigstore.json`. */
  signFile(pathOrDigest: string, options: SignOptions): Promise<Buffer>;
};

/** Opens the authority of a folder; its keys and its root are made there at the first time and kept. */
export async function openSigningAuthority(folder: string): Promise<SigningAuthority> {
  const keys = await openKeys(folder);
  const trustedRootFile = join(folder, "trusted_root.json");
  let root = await readIfPresent(trustedRootFile);
  if (root === undefined) {
    root = await trustedRootOf(keys);
    await writeWhole(trustedRootFile, root, 0o644);
  }
  const text = root;
  return {
    trustedRoot: () => text,
    trustedRootFile,
    signFile: async (pathOrDigest, options) => signDigest(keys, await digestOf(pathOrDigest), options),
  };
}

async function digestOf(pathOrDigest: string): Promise<Buffer> {
  const hex = pathOrDigest.startsWith("sha256:") ? pathOrDigest.slice(7) : await hashFile(pathOrDigest);
  return Buffer.from(hex, "hex");
}
