/**
 * What a volume remembers of the collectors that images brought: which version a binary says it is, and whether it ran
 * here. Keyed by the SHA-256 of the binary: the tag of an image and the time of a file say nothing about its bytes.
 */
import { z } from "zod";
import type { Collector, SeedHistory } from "../../domain/update/image-seed.ts";
import { readState, writeState, type StateFolder } from "../state-file.ts";

export const SEED_MEMORY_FILE = "image-seed.json";
const Memory = z.strictObject({
  /** The latest last. */
  collectors: z.array(
    z.strictObject({
      binarySha256: z.string(),
      version: z.string(),
      history: z.enum(["new", "ran", "taken_back"]),
      /** Why it was taken back; otherwise empty. */
      cause: z.string(),
    }),
  ),
});
type Remembered = z.output<typeof Memory>["collectors"][number];
/** More images than a volume sees between two looks at it; the file stays small. */
const MAX_REMEMBERED = 32;

export type SeedMemory = {
  /** Undefined when these bytes were never seen here. */
  of: (binarySha256: string) => Promise<Readonly<Remembered> | undefined>;
  note: (collector: Collector, history: SeedHistory, cause?: string) => Promise<void>;
};

/** A file that was lost or cut forgets: then a collector is asked for its version, and tried, once more. */
export function createSeedMemory(folder: StateFolder): SeedMemory {
  const read = async (): Promise<Remembered[]> => {
    const found = await readState(folder, SEED_MEMORY_FILE, Memory);
    return found.state === "ok" ? found.value.collectors : [];
  };
  return {
    of: async (binarySha256) => (await read()).find((it) => it.binarySha256 === binarySha256),
    note: async ({ version, binarySha256 }, history, cause = "") => {
      const others = (await read()).filter((it) => it.binarySha256 !== binarySha256);
      const collectors = [...others, { binarySha256, version, history, cause }].slice(-MAX_REMEMBERED);
      await writeState(folder, SEED_MEMORY_FILE, { collectors });
    },
  };
}
