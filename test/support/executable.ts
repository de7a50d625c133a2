/** The updater's executable, built once for a test file, in a folder of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildExecutable } from "../../scripts/build-executable.ts";

export async function builtExecutable(): Promise<{ path: string; folder: string; remove: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), "updater-executable-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  return { path: await buildExecutable(folder), folder, remove };
}
