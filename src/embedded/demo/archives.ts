import type { SigningAuthority } from "../../signing/authority.ts";
import { packArchive, publishRelease, type ReleaseAsset } from "../../signing/release.ts";
import { demoBinary, DEMO_DISTRIBUTION, DEMO_VERSIONS, runningPlatform, type DemoVersion } from "./binary.ts";

export type DemoMirror = {
  /** Root of the mirror: `<folder>/v<version>/<asset>`. */
  folder: string;
  authority: SigningAuthority;
  /** Default: `DEMO_VERSIONS`. */
  versions?: readonly DemoVersion[];
  /** Default: linux on amd64 and arm64, and the running platform. */
  platforms?: readonly string[];
};

const README = "Demo collector of Myriarch: it receives and sends nothing.\n";

/**
 * Fills a mirror folder with signed archives `otelcol-contrib_<version>_<platform>.tar.gz`. Building again over the same
 * folder changes nothing: the archives are the same byte for byte, and their signatures are kept.
 */
export async function buildDemoMirror({ folder, authority, versions, platforms }: DemoMirror): Promise<void> {
  const all = platforms ?? [...new Set(["linux_amd64", "linux_arm64", runningPlatform()])];
  for (const demo of versions ?? DEMO_VERSIONS) {
    const assets = await Promise.all(all.map((platform) => demoAsset(demo, platform)));
    await publishRelease(folder, authority, assets, { tag: `v${demo.version}` });
  }
}

async function demoAsset(demo: DemoVersion, platform: string): Promise<ReleaseAsset> {
  const binary = platform.startsWith("windows_") ? `${DEMO_DISTRIBUTION}.exe` : DEMO_DISTRIBUTION;
  const content = await packArchive([
    { name: "README.md", content: README, mode: 0o644 },
    { name: binary, content: await demoBinary(demo, platform), mode: 0o755 },
  ]);
  return { name: `${DEMO_DISTRIBUTION}_${demo.version}_${platform}.tar.gz`, content };
}
