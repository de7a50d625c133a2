/**
 * The binaries of demo collectors: one script per version and platform, made from `collector.mjs`. They differ in bytes
 * and hold no path of the machine that made them.
 */
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeWhole } from "../../signing/keys.ts";

export const DEMO_DISTRIBUTION = "otelcol-contrib";

export type DemoVersion = {
  version: string;
  /** Health checks that are answered 200 before all others get 503. Absent: always healthy. */
  healthyAnswers?: number;
};

/** The versions of the quickstart's mirror. The last one is healthy exactly once: hosts find out and roll back. */
export const DEMO_VERSIONS: readonly DemoVersion[] = [
  { version: "0.161.0" },
  { version: "0.162.0" },
  { version: "0.163.0", healthyAnswers: 1 },
];

const GO_SYSTEMS: Readonly<Record<string, string>> = { win32: "windows" };
const GO_MACHINES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", arm: "armv7" };

/** The platform of this process as archives name it, for example `linux_amd64`. */
export function runningPlatform(): string {
  return `${GO_SYSTEMS[process.platform] ?? process.platform}_${GO_MACHINES[process.arch] ?? process.arch}`;
}

/** The bytes of the binary of a version. */
export async function demoBinary(demo: DemoVersion, platform: string): Promise<string> {
  const template = await readFile(join(import.meta.dirname, "collector.mjs"), "utf8");
  return template
    .replace('"@VERSION@"', JSON.stringify(demo.version))
    .replace('"@PLATFORM@"', JSON.stringify(platform))
    .replace('"@HEALTHY_ANSWERS@"', JSON.stringify(String(demo.healthyAnswers ?? "")));
}

/** Puts an executable binary at `path`, as somebody would by hand: no archive, no marker. */
export async function writeDemoBinary(path: string, version: string): Promise<void> {
  const demo = DEMO_VERSIONS.find((known) => known.version === version) ?? { version };
  await mkdir(dirname(path), { recursive: true });
  await writeWhole(path, await demoBinary(demo, runningPlatform()), 0o755);
}
