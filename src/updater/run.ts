/** The program while it runs: prepare, repair, supervise, connect; and the way out in the reverse order. */
import { randomBytes } from "node:crypto";
import { openBackoff } from "./backoff.ts";
import { systemClock } from "./clock.ts";
import { compose, connectorOf } from "./compose.ts";
import { isHanging, type StepTimes } from "../domain/update/step-limits.ts";
import type { UpdaterSettings } from "./config.ts";
import { openContainer } from "./container/mode.ts";
import { hostPorts } from "./fault-points.ts";
import { lockFolder, prepareFolder, tokenFileWarnings } from "./host-folder.ts";
import type { Log } from "./host/service.ts";
import { feedWatchdog, takeNotifier } from "./notify.ts";
import { Updater } from "./opamp-client.ts";
import { recover, type Recovered } from "./recover.ts";
import { rootFileWarnings } from "./root-file.ts";
import { runProgram } from "./run-program.ts";
import { sweepState } from "./state-file.ts";
import { createState } from "./state.ts";
import { watchSupervisor } from "./watch-supervisor.ts";

export type RunOptions = {
  settings: UpdaterSettings;
  /** Names the file in warnings about an inline token. */
  configFile: string;
  version: string;
  log: Log;
  env: NodeJS.ProcessEnv;
};

/** Prepares folders and the lock. Throws `CannotStart` with what a person must mend. */
async function open({ settings, configFile, log, env }: RunOptions) {
  await prepareFolder(settings.stateDir, 0o700);
  await prepareFolder(settings.installDir, 0o755);
  const ports = hostPorts(env, { state: settings.stateDir, install: settings.installDir });
  const lock = await lockFolder(settings.stateDir, ports.files);
  try {
    const { token, tokenFile } = settings.server;
    const warnings = [
      ...(tokenFile === undefined ? [] : await tokenFileWarnings("server.tokenFile", tokenFile)),
      ...(token === undefined ? [] : await tokenFileWarnings("server.token", configFile)),
      ...(await rootFileWarnings(settings)),
    ];
    for (const warning of warnings) log.warn({}, warning);
    const { host, folder, mending, rootKeeper } = compose(settings, log, ports);
    const container = openContainer(settings, host, folder);
    await sweepState(folder);
    const state = createState(folder, host.clock, randomBytes);
    const backoff = await openBackoff(folder, host.clock, settings.update.failedRetryBackoff);
    return { lock, host, state, backoff, mending, rootKeeper, container };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** What `recover` does: the repair of a start, once. The supervisor of manager `process` is stopped again at the end. */
export async function recoverOnce(options: RunOptions, signal: AbortSignal): Promise<Recovered> {
  const { lock, host, state, backoff, container } = await open(options);
  try {
    const recovered = await recover({ host, state, backoff, signal, ...container });
    await host.service.close();
    return recovered;
  } finally {
    await lock.release();
  }
}

/** Runs until `signal` is aborted; `ready` is called once the host is repaired and the connection begins. */
export async function run(options: RunOptions, signal: AbortSignal, ready: () => void): Promise<void> {
  const { settings, version, log } = options;
  const notifier = takeNotifier(options.env, runProgram, systemClock, log); // before any child could inherit it
  const { lock, host, state, backoff, mending, rootKeeper, container } = await open(options);
  try {
    // beside everything else: a host without its root still recovers, and runs what it has
    rootKeeper?.keepFresh(signal).catch((error: unknown) => log.error({ error: String(error) }, "no root by TUF"));
    const recovered = await recover({ host, state, backoff, signal, ...container });
    if (recovered.repair !== "none") log.warn({ ...recovered }, "recovered");
    const imageCollectorVersion = await container?.seed(signal);
    if (recovered.repair === "none" && settings.supervisor.manager === "process") await startSupervisor();
    const instanceUid = await state.instanceUid();
    const connect = connectorOf(settings, log);
    const updater = new Updater({
      settings,
      version,
      host,
      state,
      backoff,
      instanceUid,
      imageCollectorVersion,
      connect,
      atRest: tidyMemory,
    });
    await updater.start();
    const watching = watchSupervisor({ mending, updater, clock: systemClock, signal });
    await notifier.ready();
    ready();
    await feedWatchdog(notifier, () => isHanging(updater.activity, systemClock.monotonicMs(), stepTimes(settings)), {
      clock: systemClock,
      log,
      signal,
    });
    await aborted(signal);
    log.info({}, "stopping");
    await notifier.stopping();
    await updater.stop();
    await watching;
  } catch (error) {
    if (!signal.aborted) throw error;
    log.info({ reason: String(signal.reason) }, "stopped before the start was complete");
  } finally {
    await host.service.close();
    await lock.release();
  }

  /** A supervisor that does not start is tried again; meanwhile an update may bring a version that does. */
  async function startSupervisor(): Promise<void> {
    try {
      await host.service.start();
    } catch (error) {
      log.error({ error: String(error) }, "the supervisor does not start");
    }
  }
}

const stepTimes = ({ update, supervisor }: UpdaterSettings): StepTimes => ({
  idleTimeoutMs: update.idleTimeout,
  stopTimeoutMs: supervisor.stopTimeout,
  healthTimeoutMs: update.healthTimeout,
});

/** By then nothing of what has ended is held any more. */
const TIDY_AFTER_MS = 2_000;

/** What a start or an attempt left goes soon: V8 collects by need, and a program that waits has none. */
function tidyMemory(): void {
  const { gc } = globalThis; // the executable is started with it
  if (gc !== undefined) setTimeout(() => gc({ type: "major", execution: "sync" }), TIDY_AFTER_MS).unref();
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
