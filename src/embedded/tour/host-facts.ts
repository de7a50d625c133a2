/** A real host looked at from outside: files, the binary's own answer, and the processes that run. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { findProcesses } from "../processes.ts";
import { binaryPath, currentVersion, type RealHost } from "../stage/real-host.ts";

const run = promisify(execFile);

/** What is not as it should be when the host runs `version`; empty when everything is. */
export async function hostComplaints(host: RealHost, version: string, byHand = false): Promise<string> {
  const wrong: string[] = [];
  const current = await currentVersion(host);
  if (current !== version) wrong.push(`current names ${current}`);
  const said = await binaryVersion(host);
  if (!said.endsWith(` ${version}`)) wrong.push(`--version says "${said}"`);
  const running = collectorsOf(host);
  if (running !== 1) wrong.push(`${running} collector processes run`);
  if (await exists(join(host.stateDir, "journal.json"))) wrong.push("the journal is not cleared");
  wrong.push(...(byHand ? await unmarked(host, version) : await markerComplaints(host, version)));
  return wrong.map((text) => `${host.name}: ${text}`).join("; ");
}

/** The last line of what the active binary answers to `--version`. */
export async function binaryVersion(host: Pick<RealHost, "installDir">): Promise<string> {
  // The demo binary is a script of Node; the program that runs us is in front, whatever `node` is on PATH.
  const { stdout } = await run(process.execPath, [binaryPath(host), "--version"], { timeout: 10_000 });
  return stdout.trim();
}

export const collectorsOf = (host: Pick<RealHost, "installDir">): number =>
  findProcesses((args) => args.includes(binaryPath(host)) && args.some((arg) => arg.startsWith("--config"))).length;

async function unmarked(host: RealHost, version: string): Promise<string[]> {
  const marked = await exists(join(host.installDir, "versions", version, "install.json"));
  return marked ? ["a version put there by hand has a marker"] : [];
}

async function markerComplaints(host: RealHost, version: string): Promise<string[]> {
  const folder = join(host.installDir, "versions", version);
  const marker = JSON.parse(await readFile(join(folder, "install.json"), "utf8")) as Record<string, unknown>;
  const bytes = await readFile(binaryPath(host));
  const wrong: string[] = [];
  if (marker["version"] !== version) wrong.push(`the marker says ${String(marker["version"])}`);
  if (marker["binarySha256"] !== createHash("sha256").update(bytes).digest("hex"))
    wrong.push("the binary is not the one of the marker");
  if (marker["source"] !== "package") wrong.push(`the marker's source is ${String(marker["source"])}`);
  return wrong;
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
