/**
 * Names of what a release consists of (contract, "Package offers"; design/artifacts, "Fetch and verify"):
 * `<base>/<tag>/<distribution>_<version>_<os>_<arch>.tar.gz`, with `.sha256` and `.sigstore.json` beside it.
 */
export type Platform = { os: string; arch: string };
export type ArtifactRef = { distribution: string; version: string; os: string; arch: string };

const SYSTEMS = new Set(["linux", "darwin", "windows", "freebsd", "aix"]);
const ARCHES = new Set(["amd64", "arm64", "386", "armv7", "ppc64le", "s390x", "riscv64", "ppc64"]);
/** Names of Node and of OpenTelemetry's conventions that stand for one of Go's. */
const ARCH_ALIASES: Readonly<Record<string, string>> = {
  x64: "amd64",
  x86_64: "amd64",
  aarch64: "arm64",
  ia32: "386",
  x86: "386",
  arm: "armv7",
  arm32: "armv7",
};
const SYSTEM_ALIASES: Readonly<Record<string, string>> = { win32: "windows" };

/** The platform of an archive for what an agent reports; undefined: `unsupported_platform`. */
export function platformOf(os: string, arch: string): Platform | undefined {
  const system = own(SYSTEM_ALIASES, os.toLowerCase()) ?? os.toLowerCase();
  const machine = own(ARCH_ALIASES, arch.toLowerCase()) ?? arch.toLowerCase();
  return SYSTEMS.has(system) && ARCHES.has(machine) ? { os: system, arch: machine } : undefined;
}

const own = (table: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

/** As it stands in workflow ids and on pages: `linux_amd64`. */
export const platformText = ({ os, arch }: Platform): string => `${os}_${arch}`;

const DISTRIBUTION = /^[a-z0-9][a-z0-9-]{0,62}$/;
const VERSION = /^\d{1,6}\.\d{1,6}\.\d{1,6}(-[0-9A-Za-z.-]{1,64})?$/;

/** Whether these parts can make a file name and a URL: nothing that climbs, nothing that needs escaping. */
export const isArtifactRef = ({ distribution, version, os, arch }: ArtifactRef): boolean =>
  DISTRIBUTION.test(distribution) && VERSION.test(version) && platformOf(os, arch) !== undefined;

export const releaseTag = (version: string): string => `v${version}`;

export const assetName = ({ distribution, version, os, arch }: ArtifactRef): string =>
  `${distribution}_${version}_${os}_${arch}.tar.gz`;

const ASSET = /^([^_/]+)_([^_/]+)_([^_/.]+)_([^_/.]+)\.tar\.gz$/;

/**
 * What an archive's name says it is, or what is wrong with it. Only a name that `assetName` could have made is read:
 * `otelcol_1.0.0_linux_x64.tar.gz` is of no platform, although an agent may call its own so.
 */
export function parseAssetName(
  name: string,
):
  | { ok: true; ref: ArtifactRef }
  | { ok: false; because: "name" }
  | { ok: false; because: "platform"; platform: string } {
  const [, distribution = "", version = "", os = "", arch = ""] = ASSET.exec(name) ?? [];
  if (!DISTRIBUTION.test(distribution) || !VERSION.test(version)) return { ok: false, because: "name" };
  const platform = platformOf(os, arch);
  if (platform === undefined || platform.os !== os || platform.arch !== arch)
    return { ok: false, because: "platform", platform: platformText({ os, arch }) };
  return { ok: true, ref: { distribution, version, os, arch } };
}

export type AssetUrls = { archive: string; checksum: string; bundle: string };

/** The three files of an asset below `sourceBaseUrl`, in the upstream layout. */
export function assetUrls(sourceBaseUrl: string, ref: ArtifactRef): AssetUrls {
  const base = sourceBaseUrl.replace(/\/+$/, "");
  const archive = `${base}/${releaseTag(ref.version)}/${assetName(ref)}`;
  return { archive, checksum: `${archive}.sha256`, bundle: `${archive}.sigstore.json` };
}

const CHECKSUM = /^([0-9a-fA-F]{64})(?:$|\s)/;

/** The digest in a checksum file: 64 hexadecimal characters, with or without newline and file name behind them. */
export const parseChecksum = (text: string): string | undefined => CHECKSUM.exec(text)?.[1]?.toLowerCase();
