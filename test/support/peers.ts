/**
 * The real OpAMP peers (upstream supervisor, a collector in two versions, reference client and server), built once from
 * pinned modules by a script that lies beside the repository, and kept in the user's cache by the script's content.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { copyFile, mkdir, rename } from "node:fs/promises";
import { setPriority } from "node:os";
import { dirname, join } from "node:path";
import { lock } from "../../src/embedded/lock-file.mjs";
import type { HostSoftware } from "../../src/embedded/stage/real-host.ts";
import { cacheFolder } from "../../src/embedded/temporal-program.ts";

const SCRIPT = join(import.meta.dirname, "../../../shared/interop/build-peers.sh");
export const OLD = "0.149.0";
export const NEW = "0.150.0";

export type Peers = {
  supervisor: string;
  /** `opamppeer server|client`: the reference library. */
  reference: string;
  /** The collector that says it is this version. */
  collector: (version: string) => string;
};

/** Why the tests with real peers cannot run here, said in one line; undefined: they can. */
export function skipPeers(): string | undefined {
  const why = whyNot();
  if (why !== undefined) console.warn(`skipped: ${why}`);
  return why;
}

function whyNot(): string | undefined {
  if (!existsSync(SCRIPT)) return `nothing at ${SCRIPT} builds the real OpAMP peers`;
  if (existsSync(builtFolder())) return undefined;
  return spawnSync("go", ["version"]).status === 0 ? undefined : "no Go here to build the real OpAMP peers";
}

const builtFolder = (): string => {
  const recipe = createHash("sha256").update(readFileSync(SCRIPT)).digest("hex").slice(0, 12);
  return join(cacheFolder(), `peers-${recipe}`);
};

/** The peers, built if nobody did yet: minutes the first time. Test files that run at once build them once. */
export async function openPeers(): Promise<Peers> {
  const folder = builtFolder();
  if (!existsSync(folder)) {
    await mkdir(dirname(folder), { recursive: true });
    const held = await lock(`${folder}.lock`, "building the real OpAMP peers", ({ pid }) =>
      console.warn(`process ${pid} builds the real OpAMP peers; waiting for it`),
    );
    try {
      if (!existsSync(folder)) await build(folder);
    } finally {
      held.release();
    }
  }
  return {
    supervisor: join(folder, "opampsupervisor"),
    reference: join(folder, "opamppeer"),
    collector: (version) => join(folder, `otelcol-${version}`),
  };
}

/** Builds beside the folder and moves it there whole: what exists is complete. A build that was cut goes on. */
async function build(folder: string): Promise<void> {
  const unfinished = `${folder}.building`;
  const logFile = `${folder}.log`;
  console.warn(`building the real OpAMP peers, about five minutes the first time; see ${logFile}`);
  const log = openSync(logFile, "w");
  const child = spawn(SCRIPT, [unfinished], {
    env: { ...process.env, COLLECTOR_LABELS: `${OLD} ${NEW}` },
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  await once(child, "spawn");
  if (child.pid !== undefined) setPriority(child.pid, 10);
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  if (code !== 0) {
    const tail = readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-15).join("\n");
    throw new Error(`the real OpAMP peers cannot be built (${signal ?? code}):\n${tail}`);
  }
  await rename(unfinished, folder);
}

/**
 * Upstream's supervisor and the collector in Go for a host of the stage, with the capabilities that an enrolled collector
 * needs. Without its own metrics endpoint, so that several collectors of one machine do not meet on port 8888.
 */
export const realSoftware = ({ supervisor, collector }: Peers): HostSoftware => ({
  supervisor: [supervisor],
  capabilities: { reports_available_components: true },
  collectorArgs: ["--set=service.telemetry.metrics.level=none"],
  version: OLD,
  writeCollector: async (file) => {
    await mkdir(dirname(file), { recursive: true });
    await copyFile(collector(OLD), file);
  },
});
