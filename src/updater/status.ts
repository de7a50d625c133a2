/** What `status` shows: read from disk, whether the updater runs or not. Nothing is repaired or moved aside. */
import { join } from "node:path";
import { JOURNAL_FILE } from "./attempt-journal.ts";
import type { UpdaterSettings } from "./config.ts";
import { systemFiles } from "./files.ts";
import { Layout } from "./layout.ts";

export type HostStatus = {
  active: { version: string; marker: boolean; previousVersion: string; source: string; binarySha256: string } | null;
  versions: string[];
  journal: unknown;
  lastAttempt: unknown;
};

export async function readStatus(settings: UpdaterSettings): Promise<HostStatus> {
  const { installDir, binary, stateDir, update } = settings;
  const layout = new Layout({ installDir, binary, activation: update.activation }, systemFiles);
  const active = await layout.active();
  return {
    active: active
      ? {
          version: active.version,
          marker: active.marker !== undefined,
          previousVersion: active.marker?.previousVersion ?? "",
          source: active.marker?.source ?? "",
          binarySha256: active.binarySha256,
        }
      : null,
    versions: await layout.installed(),
    journal: await readJson(join(stateDir, JOURNAL_FILE)),
    lastAttempt: await readJson(join(stateDir, "attempt.json")),
  };
}

async function readJson(path: string): Promise<unknown> {
  const text = await systemFiles.read(path);
  if (text === undefined) return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return "unreadable";
  }
}

export function describeStatus({ active, versions, journal, lastAttempt }: HostStatus): string {
  const attempt = lastAttempt as { status?: string; version?: string; error?: string } | null;
  const by = active?.marker === true ? `installed from ${active.source}` : "put there by hand: no signed way back";
  return [
    active === null ? "active:    none" : `active:    v${active.version} (${by})`,
    `on disk:   ${versions.map((version) => `v${version}`).join(", ") || "none"}`,
    `journal:   ${journal === null ? "none" : "open: an update was cut off, the next start repairs it"}`,
    attempt === null
      ? "last attempt: none"
      : `last attempt: v${attempt.version} ${attempt.status}${attempt.error ? `: ${attempt.error}` : ""}`,
  ].join("\n");
}
