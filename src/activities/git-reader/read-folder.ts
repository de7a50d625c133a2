/** A folder on disk as a revision: for `myrctl validate`, which judges what is not committed yet. */
import { lstat, readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import {
  selectFiles,
  type Limits,
  type RepositoryEntry,
  type RepositoryFile,
} from "../../domain/gitops/repository-files.ts";

/**
 * Entries at and below `folder`, with the content of those that validation reads. Git's own folder is left out, symbolic
 * links are not followed. Rejects when something cannot be read.
 */
export async function readFolder(folder: string, limits: Limits): Promise<RepositoryFile[]> {
  const entries = await listFolder(folder, folder);
  const selection = selectFiles(entries, limits);
  const wanted = new Set([...selection.objects, ...selection.samples]);
  const files: RepositoryFile[] = [];
  for (const entry of entries) {
    files.push(wanted.has(entry.path) ? { ...entry, bytes: await readFile(join(folder, entry.path)) } : entry);
  }
  return files;
}

async function listFolder(root: string, folder: string): Promise<RepositoryEntry[]> {
  const entries: RepositoryEntry[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.name === ".git") continue;
    if (entry.isDirectory()) {
      entries.push(...(await listFolder(root, path)));
      continue;
    }
    const { size } = await lstat(path);
    const mode = entry.isFile() ? "100644" : entry.isSymbolicLink() ? "120000" : "other";
    entries.push({ path: relative(root, path).split(sep).join("/"), mode, size });
  }
  return entries;
}
