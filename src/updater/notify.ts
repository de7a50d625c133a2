/**
 * What systemd is told: ready, stopping, alive. Node opens no datagram sockets of the local kind, so the program
 * `systemd-notify` says it, which comes with systemd. As root it sends in the name of its parent, which is us: the unit's
 * `NotifyAccess=main` holds, and no child of ours can speak for us. A message costs some milliseconds.
 */
import type { Clock } from "./clock.ts";
import type { Log } from "./host/service.ts";
import type { runProgram } from "./run-program.ts";

export type Notifier = {
  /** The host is repaired and the connection begins. */
  ready: () => Promise<void>;
  alive: () => Promise<void>;
  /** From here on the watchdog of systemd rests; `TimeoutStopSec` counts. */
  stopping: () => Promise<void>;
  /** Longest time between two signs of life; undefined when nobody watches. */
  watchdogMs: number | undefined;
};

const LONGEST_MESSAGE_MS = 10_000;
/** Two messages may get lost or be late before systemd takes us for hanging. */
const FEEDS_PER_PERIOD = 3;

/**
 * Reads who listens, and takes it out of the environment so that no child inherits it. Messages that cannot be sent are
 * logged: they are no reason to leave a host half updated.
 */
export function takeNotifier(env: NodeJS.ProcessEnv, run: typeof runProgram, clock: Clock, log: Log): Notifier {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: period, WATCHDOG_PID: watched } = env;
  for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) delete env[name];
  const tell = async (message: string): Promise<void> => {
    if (socket === undefined) return;
    try {
      const { code, output } = await run(
        {
          file: "systemd-notify",
          args: [message],
          timeoutMs: LONGEST_MESSAGE_MS,
          env: { NOTIFY_SOCKET: socket, PATH: env["PATH"] ?? "/usr/bin:/bin" },
        },
        clock,
      );
      if (code !== 0) log.warn({ code, output: output.trim() }, `systemd-notify ${message} failed`);
    } catch (error) {
      log.warn({ error: String(error) }, `systemd was not told ${message}; the program systemd-notify is needed`);
    }
  };
  const watchdogMs = Number(period) / 1_000;
  const isWatched = socket !== undefined && watchdogMs > 0 && (watched ?? String(process.pid)) === String(process.pid);
  return {
    ready: async () => await tell("READY=1"),
    alive: async () => await tell("WATCHDOG=1"),
    stopping: async () => await tell("STOPPING=1"),
    watchdogMs: isWatched ? watchdogMs : undefined,
  };
}

/** Says that we live as long as `isHanging` denies it, until `signal`. An event loop that hangs says nothing by itself. */
export async function feedWatchdog(
  notifier: Notifier,
  isHanging: () => boolean,
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<void> {
  if (notifier.watchdogMs === undefined) return;
  let told = false;
  while (!signal.aborted) {
    const hangs = isHanging();
    if (!hangs) await notifier.alive();
    else if (!told) log.error({}, "the attempt hangs: its step is past every limit; systemd will restart us");
    told = hangs;
    try {
      await clock.sleep(notifier.watchdogMs / FEEDS_PER_PERIOD, signal);
    } catch {
      return; // told to end
    }
  }
}
