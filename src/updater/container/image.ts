/** The collector that a container's image brings: its bytes, and the version it says it is. */
import { join } from "node:path";
import type { Collector } from "../../domain/update/image-seed.ts";
import { StepError } from "../../domain/update/step-error.ts";
import { normalizeVersion } from "../../domain/update/version.ts";
import type { HostDeps } from "../install.ts";
import { runProgram } from "../run-program.ts";
import type { SeedMemory } from "./seed-memory.ts";

const VERSION_TIMEOUT_MS = 30_000;

export type ImageDeps = { host: HostDeps; memory: SeedMemory; imageDir: string };

export const imageBinary = ({ host, imageDir }: ImageDeps): string => join(imageDir, host.layout.settings.binary);

/** Hashes the image's binary; only unknown bytes are asked for their version. Throws (class `preflight`) what is wrong. */
export async function readImage(deps: ImageDeps): Promise<Collector> {
  const { host, memory } = deps;
  const path = imageBinary(deps);
  const binarySha256 = await host.files.hash(path);
  if (binarySha256 === undefined)
    throw new StepError("preflight", `the image has no collector at ${path}; container.imageDir names its folder`);
  const known = await memory.of(binarySha256);
  if (known !== undefined) return { version: known.version, binarySha256 };
  const collector = { version: await askVersion(path, host), binarySha256 };
  await memory.note(collector, "new");
  return collector;
}

async function askVersion(path: string, { clock, log }: HostDeps): Promise<string> {
  const result = await runProgram({ file: path, args: ["--version"], timeoutMs: VERSION_TIMEOUT_MS }, clock).catch(
    (error: unknown) => {
      const { code } = error as NodeJS.ErrnoException;
      throw new StepError("preflight", `${path} cannot be run (${code ?? "unknown reason"})`, error);
    },
  );
  const version = versionIn(result.output);
  if (result.code === 0 && version !== undefined) return version;
  log.error({ ...result }, "the image's collector does not say its version");
  throw new StepError("preflight", `${path} --version names no version like 0.161.0`);
}

/** The first word that is a version, without `v`: `otelcol-contrib version 0.161.0`. */
export function versionIn(output: string): string | undefined {
  return output
    .split(/[\s,;:()"'=]+/)
    .map((word) => normalizeVersion(word))
    .find((version) => version !== undefined);
}
