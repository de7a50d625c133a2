/**
 * Where things lie on a host (contract, "Layout"), and which version is active. The bytes on disk decide: a version file
 * or marker only says what they ought to be.
 *
 *   <installDir>/versions/<version>/<binary>          <installDir>/current -> versions/<version>     (activation symlink)
 *   <installDir>/versions/<version>/install.json      <installDir>/bin/<binary> (+ .previous)        (activation copy)
 */
import { join } from "node:path";
import { z } from "zod";
import { StepError } from "../domain/update/step-error.ts";
import { normalizeVersion } from "../domain/update/version.ts";
import { TEMPORARY, type Files } from "./files.ts";

/** Name of the install marker in each version folder. */
export const INSTALL_MARKER = "install.json";
const PREVIOUS_SUFFIX = ".previous";
/** Folders in `versions/` that are not versions: staged, moved out of the way, or on their way out. Swept at start. */
export const STAGING_PREFIX = ".staging-";
const REPLACED_PREFIX = ".replaced-";
const DROPPED_PREFIX = ".dropped-";

const hex64 = z.string().regex(/^[0-9a-f]{64}$/);
const Marker = z.strictObject({
  version: z.string(),
  /** Empty for a container's seed: it came from no archive. */
  archiveSha256: z.union([hex64, z.literal("")]),
  binarySha256: hex64,
  /** Active before this one; empty if none. */
  previousVersion: z.string(),
  installedAt: z.string(),
  source: z.enum(["package", "image"]),
});
export type InstallMarker = z.output<typeof Marker>;

export type LayoutSettings = { installDir: string; binary: string; activation: "symlink" | "copy" };

export type Active = {
  version: string;
  /** Absent on a host whose version was put there by hand. */
  marker?: InstallMarker;
  /** Of the bytes that would run now. */
  binarySha256: string;
};

export class Layout {
  readonly settings: LayoutSettings;
  readonly versions: string;
  /** What the supervisor's configuration points at. */
  readonly stable: string;
  private readonly files: Files;

  constructor(settings: LayoutSettings, files: Files) {
    const { installDir, binary, activation } = settings;
    this.settings = settings;
    this.files = files;
    this.versions = join(installDir, "versions");
    this.stable = activation === "symlink" ? join(installDir, "current", binary) : join(installDir, "bin", binary);
  }

  versionFolder(version: string): string {
    return join(this.versions, version);
  }

  versionBinary(version: string): string {
    return join(this.versions, version, this.settings.binary);
  }

  async marker(version: string): Promise<InstallMarker | undefined> {
    const text = await this.files.read(join(this.versionFolder(version), INSTALL_MARKER));
    if (text === undefined) return undefined;
    try {
      const read = Marker.safeParse(JSON.parse(text));
      return read.success && read.data.version === version ? read.data : undefined;
    } catch {
      return undefined; // an unreadable marker proves nothing: as if there were none
    }
  }

  /** Versions whose marker is there and unreadable: they count as put there by hand. */
  async lostMarkers(): Promise<string[]> {
    const lost: string[] = [];
    for (const version of await this.installed()) {
      const isThere = (await this.files.list(this.versionFolder(version))).includes(INSTALL_MARKER);
      if (isThere && (await this.marker(version)) === undefined) lost.push(version);
    }
    return lost;
  }

  /** Versions on disk that hold a binary. */
  async installed(): Promise<string[]> {
    const { binary } = this.settings;
    const names = (await this.files.list(this.versions)).filter((name) => normalizeVersion(name) === name);
    const held = await Promise.all(
      names.map(async (name) => (await this.files.list(this.versionFolder(name))).includes(binary)),
    );
    return names.filter((_, index) => held[index]);
  }

  /** What the supervisor would start now; undefined when that is no version of ours. */
  async active(): Promise<Active | undefined> {
    const linked = this.settings.activation === "symlink";
    const version = linked ? await this.linkedVersion() : await this.copiedVersion();
    if (version === undefined) return undefined;
    const binarySha256 = await this.files.hash(linked ? this.versionBinary(version) : this.stable);
    if (binarySha256 === undefined) return undefined;
    const marker = await this.marker(version);
    return { version, binarySha256, ...(marker === undefined ? {} : { marker }) };
  }

  private async linkedVersion(): Promise<string | undefined> {
    const target = await this.files.readLink(join(this.settings.installDir, "current"));
    const name =
      target
        ?.replace(/[\\/]+$/, "")
        .split(/[\\/]/)
        .at(-1) ?? "";
    return normalizeVersion(name) === name ? name : undefined;
  }

  /** With copies the version is the one whose bytes are in place. */
  private async copiedVersion(): Promise<string | undefined> {
    const bytes = await this.files.hash(this.stable);
    if (bytes === undefined) return undefined;
    for (const version of await this.installed())
      if (
        (await this.marker(version))?.binarySha256 === bytes ||
        (await this.files.hash(this.versionBinary(version))) === bytes
      )
        return version;
    return undefined;
  }

  /** Makes a version the one that the supervisor starts next. Atomic for readers; the supervisor must be stopped. */
  async activate(version: string): Promise<void> {
    const { files } = this;
    const { installDir, activation } = this.settings;
    if ((await files.hash(this.versionBinary(version))) === undefined)
      throw new StepError("install", `v${version} is not on the disk`);
    if (activation === "copy") return await this.activateCopy(version);
    const [target, current] = [join("versions", version), join(installDir, "current")];
    // a way back that changes nothing needs no space on a disk that may have none
    if ((await files.readLink(current)) !== target) await files.replaceSymlink(target, current);
  }

  /** The way back has to work on a full disk: bytes that `.previous` still holds are moved, not copied. */
  private async activateCopy(version: string): Promise<void> {
    const { files, stable } = this;
    const previous = `${stable}${PREVIOUS_SUFFIX}`;
    const wanted = await files.hash(this.versionBinary(version));
    const before = await files.hash(stable);
    if (before === wanted) return;
    await files.makeFolder(join(this.settings.installDir, "bin"));
    const isBack = (await files.hash(previous)) === wanted;
    if (before !== undefined && !isBack) await files.copyDurably(stable, previous, 0o755);
    try {
      await files.copyDurably(this.versionBinary(version), stable, 0o755);
    } catch (error) {
      if (!isBack) throw error;
      await files.rename(previous, stable);
    }
  }

  /** Puts a staged folder in the place of `versions/<version>`; what was there goes away. The version must not be active. */
  async place(staging: string, version: string): Promise<void> {
    const { files } = this;
    const aside = join(this.versions, `${REPLACED_PREFIX}${version}`);
    await files.remove(aside);
    if ((await files.list(this.versionFolder(version))).length > 0)
      await files.rename(this.versionFolder(version), aside);
    else await files.remove(this.versionFolder(version));
    try {
      await files.rename(staging, this.versionFolder(version));
    } catch (error) {
      await this.putBack(version);
      throw error;
    }
    await files.remove(aside);
  }

  /** What was moved aside for a version that never came takes its place again. */
  private async putBack(version: string): Promise<void> {
    const { files } = this;
    const aside = join(this.versions, `${REPLACED_PREFIX}${version}`);
    const isThere = (await files.list(this.versionFolder(version))).length > 0;
    if (isThere || (await files.list(aside)).length === 0) return await files.remove(aside);
    await files.remove(this.versionFolder(version));
    await files.rename(aside, this.versionFolder(version));
  }

  /** Removes a version in one step for whoever looks: never is half of one left under its name. */
  async drop(version: string): Promise<void> {
    const { files } = this;
    if ((await files.list(this.versionFolder(version))).length === 0)
      return await files.remove(this.versionFolder(version));
    const aside = join(this.versions, `${DROPPED_PREFIX}${version}`);
    await files.remove(aside);
    await files.rename(this.versionFolder(version), aside);
    await files.remove(aside);
  }

  /** Removes what a killed attempt left: staged and replaced folders, files and links that never got their name. */
  async sweep(): Promise<void> {
    const { files } = this;
    const { installDir } = this.settings;
    for (const name of await files.list(this.versions))
      if (name.startsWith(REPLACED_PREFIX)) await this.putBack(name.slice(REPLACED_PREFIX.length));
      else if (name.startsWith(STAGING_PREFIX) || name.startsWith(DROPPED_PREFIX))
        await files.remove(join(this.versions, name));
    const folders = [
      installDir,
      join(installDir, "bin"),
      ...(await this.installed()).map((it) => this.versionFolder(it)),
    ];
    for (const folder of folders)
      for (const name of await files.list(folder)) if (name.includes(TEMPORARY)) await files.remove(join(folder, name));
  }

  /** Removes the oldest versions beyond `keep`, never the active one nor the one before it. Answers what went. */
  async prune(keep: number): Promise<string[]> {
    const now = await this.active();
    if (now === undefined) return [];
    const spared = new Set([now.version, now.marker?.previousVersion ?? ""]);
    const installed = await this.installed();
    const dated = await Promise.all(
      installed
        .filter((version) => !spared.has(version))
        .map(async (version) => ({ version, at: (await this.marker(version))?.installedAt ?? "" })),
    );
    const newestFirst = dated.toSorted((a, b) => b.at.localeCompare(a.at)).map(({ version }) => version);
    const present = installed.filter((version) => spared.has(version)).length;
    const gone = newestFirst.slice(Math.max(0, keep - present));
    for (const version of gone) await this.drop(version);
    return gone;
  }
}

/** Writes the marker into a folder that is still staged. */
export async function writeMarker(files: Files, folder: string, marker: InstallMarker): Promise<void> {
  await files.writeDurably(join(folder, INSTALL_MARKER), `${JSON.stringify(marker, null, 2)}\n`, 0o644);
}
