/**
 * The real OpAMP peers (upstream supervisor, a collector in two versions, the reference library as client and server): built
 * once from the Go modules in test/interop/peers, whose go.sum files pin every byte, and kept in the user's cache by what
 * those modules say.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from "node:fs";
import { copyFile, mkdir, rename } from "node:fs/promises";
import { setPriority } from "node:os";
import { dirname, join } from "node:path";
import { lock } from "../../src/embedded/lock-file.mjs";
import type { HostSoftware } from "../../src/embedded/stage/real-host.ts";
import { cacheFolder } from "../../src/embedded/temporal-program.ts";

const MODULES = join(import.meta.dirname, "../interop/peers");
export const OLD = "0.149.0";
export const NEW = "0.150.0";
/** A release that lacks the batch processor. */
export const WITHOUT_BATCH = "0.151.0";
/** A release without the extension by which the supervisor speaks with it. */
export const WITHOUT_OPAMP = "0.152.0";
/** A release that starts, is healthy for a moment, and ends by itself; again and again. */
export const ENDS_EARLY = "0.153.0";
const FAULTS: readonly (readonly [version: string, fault: string])[] = [
  [OLD, ""],
  [NEW, ""],
  [WITHOUT_BATCH, "-X main.without=batch"],
  [WITHOUT_OPAMP, "-X main.without=opamp"],
  [ENDS_EARLY, "-X main.endsAfter=1500ms"],
];

/** Every program: the module that it is built in, the package, and what the linker sets. */
const PROGRAMS: readonly { name: string; module: string; main: string; set?: string }[] = [
  {
    name: "opampsupervisor",
    module: "supervisor",
    main: "github.com/open-telemetry/opentelemetry-collector-contrib/cmd/opampsupervisor",
  },
  // One program under several versions, some with a fault: real updates without a second download of everything.
  ...FAULTS.map(([version, fault]) => ({
    name: `otelcol-${version}`,
    module: "collector",
    main: ".",
    set: `-X main.version=${version} ${fault}`.trimEnd(),
  })),
  { name: "reference", module: "reference", main: "." },
];

export type Peers = {
  supervisor: string;
  /** `reference client|server`: the reference library. */
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
  if (existsSync(builtFolder())) return undefined;
  return spawnSync("go", ["version"]).status === 0 ? undefined : "no Go here to build the real OpAMP peers";
}

function builtFolder(): string {
  const recipe = createHash("sha256").update(JSON.stringify([PROGRAMS, process.platform, process.arch]));
  const files = readdirSync(MODULES, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const path of files.map((file) => join(file.parentPath, file.name)).toSorted())
    recipe.update(path.slice(MODULES.length)).update(readFileSync(path));
  return join(cacheFolder(), `peers-${recipe.digest("hex").slice(0, 12)}`);
}

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
    reference: join(folder, "reference"),
    collector: (version) => join(folder, `otelcol-${version}`),
  };
}

/** Builds beside the folder and moves it there whole: what exists is complete. A build that was cut goes on. */
async function build(folder: string): Promise<void> {
  const unfinished = `${folder}.building`;
  const logFile = `${folder}.log`;
  console.warn(`building the real OpAMP peers, minutes the first time; see ${logFile}`);
  const log = openSync(logFile, "w");
  try {
    for (const { name, module, main, set = "" } of PROGRAMS)
      await go(["build", "-trimpath", "-ldflags", `-s -w ${set}`, "-o", join(unfinished, name), main], {
        cwd: join(MODULES, module),
        log,
        logFile,
      });
  } finally {
    closeSync(log);
  }
  await rename(unfinished, folder);
}

/** Runs Go behind everything else on the machine; go.mod and go.sum are read, never written. */
async function go(args: readonly string[], of: { cwd: string; log: number; logFile: string }): Promise<void> {
  const child = spawn("go", args, {
    cwd: of.cwd,
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly -buildvcs=false", GOWORK: "off" },
    stdio: ["ignore", of.log, of.log],
  });
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  await once(child, "spawn");
  if (child.pid !== undefined) setPriority(child.pid, 10);
  const [code, signal] = await ended;
  if (code === 0) return;
  const tail = readFileSync(of.logFile, "utf8").trimEnd().split("\n").slice(-15).join("\n");
  throw new Error(`the real OpAMP peers cannot be built (${signal ?? code}):\n${tail}`);
}

/**
 * Upstream's supervisor and the collector in Go for a host of the stage. Without its own metrics endpoint, so that several
 * collectors of one machine do not meet on port 8888.
 */
export const realSoftware = (
  { supervisor, collector }: Peers,
  transport: HostSoftware["transport"] = "websocket",
  collectorArgs: readonly string[] = ["--set=service.telemetry.metrics.level=none"],
): HostSoftware => ({
  supervisor: [supervisor],
  transport,
  collectorArgs,
  version: OLD,
  writeCollector: async (file) => {
    await mkdir(dirname(file), { recursive: true });
    await copyFile(collector(OLD), file);
  },
});
