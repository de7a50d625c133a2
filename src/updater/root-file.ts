/** What people are told of the trusted root file, by `check-config` and at the start. */
import { oldRootWarning } from "../verify/root-age.ts";
import type { UpdaterSettings } from "./config.ts";

export const ROOT_FILE_SETTING = ["update", "trustedRootFile"];

/** Empty when no file is named, or nothing is wrong with it. Each text names the setting and the path. */
export async function rootFileWarnings({ update }: UpdaterSettings, nowMs: number = Date.now()): Promise<string[]> {
  if (update.trustedRootFile === "") return [];
  const warning = await oldRootWarning(update.trustedRootFile, nowMs);
  return warning === undefined ? [] : [`${ROOT_FILE_SETTING.join(".")}: ${warning}`];
}
