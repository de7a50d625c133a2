/**
 * What the host program remembers: who it is, its last attempt, what it answered to the last offer, and which contents
 * failed lately. A file that is lost costs its memory, never the start; what a full disk does not take is kept in memory.
 */
import { z } from "zod";
import { STEPS } from "../domain/brand.ts";
import { OUTCOMES } from "../domain/update/attempt.ts";
import type { UpdateAttempt } from "../domain/update/health-report.ts";
import { readUid, uuidV7 } from "../protocol/uid.ts";
import type { Clock } from "./clock.ts";
import { readState, writeState, type StateFolder, type StateRead } from "./state-file.ts";

const nanos = z.string().regex(/^\d{1,20}$/);
const Attempt = z.strictObject({
  version: z.string(),
  from: z.string(),
  status: z.enum([...STEPS, ...OUTCOMES]),
  healthy: z.boolean(),
  error: z.string(),
  startNanos: nanos,
  statusNanos: nanos,
  steps: z.array(
    z.strictObject({
      step: z.enum(STEPS),
      status: z.enum(["running", "done", "failed", "skipped"]),
      startNanos: nanos,
      statusNanos: nanos,
      error: z.string(),
    }),
  ),
});

const hex = z.string().regex(/^[0-9a-f]*$/);
const Packages = z.strictObject({
  /** The set that was installed last. */
  installed: z
    .strictObject({ version: z.string(), archiveSha256: hex, packageHash: hex, allPackagesHash: hex })
    .nullable(),
  /** The answer to the last offer. */
  answer: z
    .strictObject({
      allPackagesHash: hex,
      packages: z.array(
        z.strictObject({
          name: z.string(),
          offeredVersion: z.string(),
          offeredHash: hex,
          status: z.enum(["installed", "installPending", "installing", "installFailed", "downloading"]),
          error: z.string(),
        }),
      ),
    })
    .nullable(),
  /** Why the last update failed; empty after a success. */
  lastFailure: z.string(),
});
export type PackageMemory = z.output<typeof Packages>;
export type PackageAnswer = NonNullable<PackageMemory["answer"]>["packages"][number];

const Identity = z.strictObject({ instanceUid: z.string() });
const FILE = { identity: "identity.json", attempt: "attempt.json", packages: "packages.json" } as const;

export type State = ReturnType<typeof createState>;

export function createState(folder: StateFolder, clock: Clock, random: (bytes: number) => Uint8Array) {
  const unsaved = new Map<string, unknown>();
  /** What was kept in memory is tried again with it. */
  async function store(name: string, value: unknown): Promise<void> {
    unsaved.set(name, value);
    for (const [file, kept] of unsaved) await save(file, kept);
  }
  async function save(name: string, value: unknown): Promise<void> {
    try {
      await writeState(folder, name, value);
      if (unsaved.get(name) === value) unsaved.delete(name);
    } catch (error) {
      folder.log.error({ file: name, error: String(error) }, "a state file could not be written; it is kept in memory");
    }
  }
  async function read<S extends z.ZodType>(name: string, schema: S): Promise<StateRead<z.output<S>>> {
    const kept = unsaved.get(name);
    return kept === undefined ? await readState(folder, name, schema) : { state: "ok", value: kept as z.output<S> };
  }

  return {
    /** Our instance UID, made once (UUIDv7). */
    instanceUid: async (): Promise<string> => {
      const found = await read(FILE.identity, Identity);
      const known = found.state === "ok" ? readUid(found.value.instanceUid) : undefined;
      if (known !== undefined) return known;
      const instanceUid = uuidV7(Number(clock.nowNanos() / 1_000_000n), random(10));
      await store(FILE.identity, { instanceUid });
      return instanceUid;
    },
    storeInstanceUid: async (instanceUid: string): Promise<void> => await store(FILE.identity, { instanceUid }),
    attempt: async (): Promise<{ state: "ok"; value: UpdateAttempt } | { state: "absent" } | { state: "broken" }> =>
      await read(FILE.attempt, Attempt),
    storeAttempt: async (attempt: UpdateAttempt): Promise<void> => await store(FILE.attempt, attempt),
    packages: async (): Promise<PackageMemory> => {
      const found = await read(FILE.packages, Packages);
      return found.state === "ok" ? found.value : { installed: null, answer: null, lastFailure: "" };
    },
    storePackages: async (packages: PackageMemory): Promise<void> => await store(FILE.packages, packages),
  };
}
