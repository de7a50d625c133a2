/**
 * Publishes releases into a mirror folder with the upstream layout: `<mirror>/<tag>/<asset>`, with `<asset>.sha256`
 * (64 hexadecimal characters, neither name nor newline, as published) and `<asset>.sigstore.json` beside it.
 */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import type { SigningAuthority } from "./authority.ts";
import { readIfPresent, writeWhole } from "./keys.ts";
import type { SignOptions } from "./sign-bundle.ts";

export type ArchiveFile = { name: string; content: string | Buffer; mode: number };
export type ReleaseAsset = { name: string; content: Buffer };

/** Byte that names the system that compressed; 255 is "unknown", so that an archive is the same on all of them. */
const GZIP_OS_BYTE = 9;

/** A `.tar.gz` of these files in this order. The same files give the same bytes: no clock, no owner, no system. */
export async function packArchive(files: readonly ArchiveFile[]): Promise<Buffer> {
  const tar = pack();
  for (const { name, content, mode } of files) tar.entry({ name, mode, mtime: new Date(0), uid: 0, gid: 0 }, content);
  tar.finalize();
  const zipped = gzipSync(await buffer(tar), { level: 9 });
  zipped[GZIP_OS_BYTE] = 255;
  return zipped;
}

/**
 * Puts one release into the mirror. An asset that already lies there with the same bytes keeps its signature, so that
 * publishing again changes nothing. Files become visible whole, the archive last.
 */
export async function publishRelease(
  mirror: string,
  authority: SigningAuthority,
  assets: readonly ReleaseAsset[],
  signing: SignOptions,
): Promise<void> {
  const folder = join(mirror, signing.tag);
  await mkdir(folder, { recursive: true });
  for (const { name, content } of assets) {
    const file = join(folder, name);
    const sha256 = createHash("sha256").update(content).digest("hex");
    const published = await readIfPresent(`${file}.sha256`);
    const signed = await readIfPresent(`${file}.sigstore.json`);
    if (published !== sha256 || signed === undefined) {
      await writeWhole(`${file}.sigstore.json`, await authority.signFile(`sha256:${sha256}`, signing), 0o644);
      await writeWhole(`${file}.sha256`, sha256, 0o644);
    }
    await writeWhole(file, content, 0o644);
  }
}
