/** What a container does beyond a host at its start: the volume is seeded from the image. */
import type { UpdaterSettings } from "../config.ts";
import type { HostDeps } from "../install.ts";
import type { RecoverDeps } from "../recover.ts";
import type { StateFolder } from "../state-file.ts";
import { createSeedMemory } from "./seed-memory.ts";
import { seedFromImage } from "./seed.ts";

export type ContainerMode = {
  seedTakenBack: NonNullable<RecoverDeps["seedTakenBack"]>;
  /** Afterwards the volume is seeded as decided. Answers the version of the image's collector, if it has one. */
  seed: (signal: AbortSignal) => Promise<string | undefined>;
};

/** Undefined on a host: container mode is what a `container` section in the configuration means. */
export function openContainer(
  settings: Pick<UpdaterSettings, "container">,
  host: HostDeps,
  folder: StateFolder,
): ContainerMode | undefined {
  const { container } = settings;
  if (container === undefined) return undefined;
  const memory = createSeedMemory(folder);
  return {
    seedTakenBack: async ({ version, binarySha256 }, cause) =>
      await memory.note({ version, binarySha256 }, "taken_back", cause),
    seed: async (signal) => {
      const { imageDir, imagePrecedence: precedence } = container;
      if (imageDir === undefined) return undefined;
      const { imageVersion, seeding } = await seedFromImage({ host, memory, imageDir, precedence }, signal);
      if (seeding.do === "seeded") host.log.info({ version: seeding.version }, "the image's collector is active");
      return imageVersion;
    },
  };
}
