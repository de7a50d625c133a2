/** The command `install-service`: folders, unit and drop-in, or the Windows task. With `dryRun` it only shows them. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { systemClock } from "./clock.ts";
import type { UpdaterSettings } from "./config.ts";
import { CannotStart, prepareFolder } from "./host-folder.ts";
import { runProgram } from "./run-program.ts";
import { SERVICE, supervisorDropIn, systemdUnit, windowsTask, type ServiceFile } from "./service-file.ts";

export type ServiceRequest = {
  settings: UpdaterSettings;
  /** Absolute. */
  configFile: string;
  /** How this program is started. */
  program: readonly string[];
  dryRun: boolean;
  /** Below this folder instead of `/`: for images that are made elsewhere. */
  root: string;
  say: (line: string) => void;
};

const COMMAND_MS = 30_000;

/** Throws `CannotStart` with what a person must mend. */
export async function installService(request: ServiceRequest): Promise<void> {
  if (process.platform === "win32") await installTask(request);
  else await installUnit(request);
}

async function installUnit({ settings, configFile, program, dryRun, root, say }: ServiceRequest): Promise<void> {
  const dropIn = supervisorDropIn(settings);
  const files = [systemdUnit(settings, program, configFile), ...(dropIn === undefined ? [] : [dropIn])];
  if (dryRun) {
    for (const { path, text } of files) say(`# ${path}\n${text}`);
    return;
  }
  // systemd binds them into the unit's view before the program could make them
  await prepareFolder(`${root}${settings.stateDir}`, 0o700);
  await prepareFolder(`${root}${settings.installDir}`, 0o755);
  for (const file of files) await write({ ...file, path: `${root}${file.path}` });
  for (const { path } of files) say(`wrote ${root}${path}`);
  say(`now run:\n  systemctl daemon-reload\n  systemctl enable --now ${SERVICE}.service`);
  if (dropIn !== undefined)
    say(`the supervisor takes its new stop signal with the reload; it need not be restarted for it`);
}

async function installTask({ settings, configFile, program, dryRun, say }: ServiceRequest): Promise<void> {
  const { file, commands } = windowsTask(program, configFile, settings.stateDir);
  if (dryRun) {
    say(`${file.path}:\n${file.text}\n${commands.map((words) => words.join(" ")).join("\n")}`);
    return;
  }
  await prepareFolder(settings.stateDir, 0o700);
  await write(file);
  for (const [tool = "", ...args] of commands)
    if ((await runProgram({ file: tool, args, timeoutMs: COMMAND_MS }, systemClock)).code !== 0)
      throw new CannotStart(`${tool} ${args[0]} failed; run this as administrator`);
  say(`the task ${SERVICE} runs now and at every start of the system`);
}

async function write({ path, text }: ServiceFile): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await writeFile(path, text, { mode: 0o644 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CannotStart(`${path} cannot be written (${String(code)}); run this as root, or look with --dry-run`);
  }
}
