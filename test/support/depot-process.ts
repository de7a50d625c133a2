/** Real depot processes: started, killed and started again on the same disks and ports. */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { lowPort } from "./low-port.ts";

const SCRIPT = fileURLToPath(new URL("../../src/bin/myriarch-depot.ts", import.meta.url));
export const TOKENS = { control: "control-token-0123456789", read: "read-token-0123456789" };

export type DepotProcess = {
  nodeId: string;
  controlUrl: string;
  readUrl: string;
  disks: string[];
  /** Ends it as a machine failure would. */
  kill(): Promise<void>;
  /** Starts it again on the same disks and ports. */
  start(): Promise<void>;
  /** Asks it to end; resolves with its exit code. */
  stop(): Promise<number | null>;
  /** Digests on each disk. */
  files(): Promise<string[][]>;
  stderr(): string;
  /** What `myriarch-depot status` prints for people on its machine. */
  status(): Promise<string>;
};

/** A group of nodes below one temporary folder, with more settings if they are given. `remove` ends and removes them all. */
export async function startDepots(
  count: number,
  settings: object = {},
): Promise<{ depots: DepotProcess[]; remove(): Promise<void> }> {
  const root = await mkdtemp(join(tmpdir(), "myriarch-depots-"));
  await writeFile(join(root, "control"), TOKENS.control);
  await writeFile(join(root, "read"), TOKENS.read);
  const depots = await Promise.all(
    Array.from({ length: count }, (_, i) => startDepot(root, `depot-${i + 1}`, settings)),
  );
  return {
    depots,
    remove: async () => {
      await Promise.all(depots.map((depot) => depot.kill()));
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function startDepot(root: string, nodeId: string, settings: object): Promise<DepotProcess> {
  const folder = join(root, nodeId);
  const disks = [join(folder, "disk-a"), join(folder, "disk-b")];
  await mkdir(folder);
  // it is started again on them after a kill
  const ports = { control: await lowPort(), read: await lowPort() };
  const config = join(folder, "depot.yaml");
  let child: ChildProcess | undefined;
  let stderr = "";
  const depot: DepotProcess = {
    nodeId,
    controlUrl: "",
    readUrl: "",
    disks,
    start: async () => {
      const listen = (port: number, tokenFile: string) => ({
        listen: `127.0.0.1:${port}`,
        tokenFile: join(root, tokenFile),
      });
      const control = listen(ports.control, "control");
      await writeFile(config, stringify({ ...settings, nodeId, disks, control, read: listen(ports.read, "read") }));
      child = spawn(process.execPath, [SCRIPT, "--config", config], { stdio: ["ignore", "pipe", "pipe"] });
      child.stderr?.on("data", (text: Buffer) => (stderr += text.toString()));
      const line = await firstLine(child, () => stderr);
      const ready = JSON.parse(line) as { control: string; read: string };
      depot.controlUrl = ready.control;
      depot.readUrl = ready.read;
    },
    kill: async () => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
    stop: async () => {
      if (child === undefined) return null;
      const ended = once(child, "exit") as Promise<[number | null]>;
      child.kill("SIGTERM");
      return (await ended)[0];
    },
    files: () => Promise.all(disks.map(async (disk) => (await readdir(join(disk, "artifacts"))).toSorted())),
    stderr: () => stderr,
    status: async () =>
      (await promisify(execFile)(process.execPath, [SCRIPT, "status", "--config", config])).stdout.trimEnd(),
  };
  await depot.start();
  return depot;
}

async function firstLine(child: ChildProcess, stderr: () => string): Promise<string> {
  if (child.stdout === null) throw new Error("no standard output");
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "exit").then(() => Promise.reject(new Error(`the depot ended: ${stderr()}`)));
  const [line] = (await Promise.race([once(lines, "line"), ended])) as [string];
  ended.catch(() => undefined);
  return line;
}

export const contentOf = (disk: string, sha256: string): Promise<Buffer> => readFile(join(disk, "artifacts", sha256));
