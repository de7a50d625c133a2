/**
 * What a start needs to know after a hard kill: written before the supervisor is stopped, removed when the host is
 * consistent again. While it exists, the host may be anywhere between the two versions that it names.
 */
import { join } from "node:path";
import { z } from "zod";
import { readState, type StateFolder } from "./state-file.ts";

const Entry = z.strictObject({
  /** `swapping`: towards `version`; `rolling_back`: towards `previous`. */
  phase: z.enum(["swapping", "rolling_back"]),
  version: z.string(),
  /** Of the archive it came from: a version that has to be taken back is not tried again at once. */
  archiveSha256: z.string(),
  binarySha256: z.string(),
  /** Null when nothing was active before: there is nothing to roll back to. */
  previous: z.strictObject({ version: z.string(), binarySha256: z.string() }).nullable(),
  /** Why it is being rolled back; empty while swapping. */
  cause: z.string(),
  /** A seed of a container's image; absent for the package of an attempt. */
  source: z.literal("image").optional(),
});
export type JournalEntry = z.output<typeof Entry>;
export const JOURNAL_FILE = "journal.json";

export type AttemptJournal = {
  read(): Promise<{ state: "none" } | { state: "unreadable" } | { state: "open"; entry: JournalEntry }>;
  write(entry: JournalEntry): Promise<void>;
  clear(): Promise<void>;
};

export function createJournal({ folder, files, log }: StateFolder): AttemptJournal {
  const path = join(folder, JOURNAL_FILE);
  return {
    read: async () => {
      const found = await readState({ folder, files, log }, JOURNAL_FILE, Entry);
      if (found.state === "ok") return { state: "open", entry: found.value };
      return { state: found.state === "broken" ? "unreadable" : "none" };
    },
    write: async (entry) => await files.writeDurably(path, `${JSON.stringify(entry)}\n`),
    clear: async () => await files.remove(path),
  };
}
