/** The worker process: the Temporal workers of every queue, and the singletons that any replica may start. */
import { hostname } from "node:os";
import { Connection, WorkflowExecutionAlreadyStartedError } from "@temporalio/client";
import { NativeConnection, Runtime, Worker, type WorkerOptions } from "@temporalio/worker";
import type { Logger } from "pino";
import { claimStagingId } from "../../activities/artifact-upload.ts";
import type { ServerSettings } from "../../domain/config/server-config.ts";
import { raiseRetention, registerSearchAttributes } from "../../embedded/temporal-namespace.ts";
import { oldRootWarning } from "../../verify/root-age.ts";
import { noteWorker } from "../../store/workers.ts";
import { QUEUES, stagingQueue } from "../../workflows/messages.ts";
import { createActivities, type WorkerActivities } from "./activities.ts";
import { drainStaging } from "./drain.ts";
import { openShared, secretOf, type Shared } from "./load.ts";
import { singletons } from "./singletons.ts";
import { endsGracefully } from "./supervise.ts";
import { workflowBundle } from "./workflow-bundle.ts";

const POOL_SIZE = 20;
const RETRY_MS = 1_000;
/** About 400 KB each: a quarter of a thousand rollouts in memory are enough, others are replayed. */
const CACHED_WORKFLOWS = 250;
const IO_SLOTS = 4;
const OBSERVE_SLOTS = 200;
const CONTROL_SLOTS = 40;
/** gRPC status codes */
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;
const SHUTDOWN_MS = 10_000;
/** After this an activity that does not hear is left to another worker. */
const FORCE_MS = 20_000;

/** Works until the process is told to end. Temporal away at the start or later: it waits and tries again. */
export async function runWorker(settings: ServerSettings, log: Logger): Promise<void> {
  Runtime.install({
    logger: bridge(log),
    telemetryOptions: { logging: { forward: {}, filter: "WARN" } },
    // ours: by itself it would end every worker at once, and nothing would replicate what is staged
    shutdownSignals: [],
  });
  const { onEnd, signal } = endsGracefully(log);
  const oldRoot = await oldRootWarning(settings.artifacts.trustedRootFile, Date.now());
  if (oldRoot !== undefined) log.warn({}, `artifacts.trustedRootFile: ${oldRoot}`);
  const shared = await openShared(settings, log, POOL_SIZE);
  onEnd(() => shared.close());
  const connection = await connect(settings, log, signal);
  onEnd(() => connection.close());
  const { activities, close } = await createActivities(settings, shared, log);
  onEnd(close);
  await prepareNamespace(shared, settings, log, signal);
  const { io, ...others } = await createWorkers(connection, settings, activities, await workflowBundle(log));
  const workers = [io, ...Object.values(others)];
  const running = Promise.all(workers.map((worker) => worker.run()));
  const shutDown = (them: readonly Worker[]): void => {
    for (const worker of them) if (worker.getState() === "RUNNING") worker.shutdown();
  };
  onEnd(async () => {
    shutDown(workers);
    await running;
  });
  await joinStaging(settings, shared);
  onEnd(async (cause) => {
    // staging is durable, and whoever started us starts a new one that goes on
    if (cause === "parent gone") return;
    shutDown([io]); // nothing new comes in; what replicates goes on
    await drainStaging({ ...shared, holder: hostname(), settings: settings.artifacts, log });
  });
  await startSingletons(shared, settings, log, signal);
  log.info({ queues: workers.length }, "worker ready");
  await running;
}

/** From now on the API of this host takes uploads into the same folder. */
async function joinStaging({ artifacts }: ServerSettings, { pool, listener }: Shared): Promise<void> {
  const staging = await claimStagingId(artifacts.stagingDir);
  await noteWorker(pool, { id: listener.id, holder: hostname(), staging });
}

async function connect(settings: ServerSettings, log: Logger, signal: AbortSignal): Promise<NativeConnection> {
  const { address, tls, apiKey } = settings.temporal;
  const options = { address, tls, ...(apiKey && { apiKey: await secretOf(apiKey) }) };
  return untilItWorks("Temporal does not answer yet", () => NativeConnection.connect(options), log, signal);
}

/** Typed search attributes and retention; where this account may not set them, the log says what to run. */
async function prepareNamespace(
  { client }: Shared,
  settings: ServerSettings,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, retentionMs } = settings.temporal;
  const { connection } = client;
  if (!(connection instanceof Connection)) return;
  await untilItWorks(
    "search attributes are not registered yet",
    () =>
      registerSearchAttributes(connection, namespace).catch((err: { code?: number }) => {
        if (err.code !== PERMISSION_DENIED && err.code !== UNIMPLEMENTED) throw err;
        // Somebody who may has to do it; waiting would not.
        log.warn({ err }, "cannot register search attributes; run: temporal operator search-attribute create");
      }),
    log,
    signal,
  );
  await raiseRetention(connection, namespace, retentionMs / 86_400_000).catch((err: unknown) =>
    log.warn({ err }, "cannot raise the retention; run: temporal operator namespace update --retention 90d"),
  );
}

async function createWorkers(
  connection: NativeConnection,
  settings: ServerSettings,
  activities: WorkerActivities["activities"],
  workflowBundle: NonNullable<WorkerOptions["workflowBundle"]>,
): Promise<Record<"control" | "io" | "observe" | "staging", Worker>> {
  const base: Pick<
    WorkerOptions,
    "connection" | "namespace" | "shutdownGraceTime" | "shutdownForceTime" | "maxHeartbeatThrottleInterval"
  > = {
    connection,
    namespace: settings.temporal.namespace,
    shutdownGraceTime: SHUTDOWN_MS,
    shutdownForceTime: FORCE_MS,
    // An activity hears of its cancellation with a heartbeat: let them through often.
    maxHeartbeatThrottleInterval: "2s",
  };
  const slots = (taskQueue: string, maxConcurrentActivityTaskExecutions: number): Promise<Worker> =>
    Worker.create({
      ...base,
      taskQueue,
      activities,
      maxConcurrentActivityTaskExecutions,
      activityTaskPollerBehavior: { type: "autoscaling" },
    });
  return {
    control: await Worker.create({
      ...base,
      taskQueue: QUEUES.control,
      activities,
      workflowBundle,
      maxCachedWorkflows: CACHED_WORKFLOWS,
      maxConcurrentActivityTaskExecutions: CONTROL_SLOTS,
      workflowTaskPollerBehavior: { type: "autoscaling" },
      activityTaskPollerBehavior: { type: "autoscaling" },
    }),
    io: await slots(QUEUES.io, IO_SLOTS),
    observe: await slots(QUEUES.observe, OBSERVE_SLOTS),
    staging: await slots(stagingQueue(hostname()), IO_SLOTS),
  };
}

/** Every replica does this at its start: whoever comes second finds them running. */
async function startSingletons(
  { client }: Shared,
  settings: ServerSettings,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (const { type, workflowId, args, summary } of singletons(settings))
    await untilItWorks(
      `cannot start ${workflowId}`,
      () =>
        client.workflow
          .start(type, {
            taskQueue: QUEUES.control,
            workflowId,
            args,
            staticSummary: summary,
            workflowIdConflictPolicy: "USE_EXISTING",
          })
          .then(
            () => undefined,
            (error: unknown) => {
              if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
            },
          ),
      log,
      signal,
    );
}

async function untilItWorks<T>(trouble: string, work: () => Promise<T>, log: Logger, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn({ err: error }, trouble);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

const bridge = (log: Logger) => ({
  log: (level: string, message: string, meta: object = {}) => log[levelOf(level)](meta, message),
  trace: (message: string, meta: object = {}) => log.trace(meta, message),
  debug: (message: string, meta: object = {}) => log.debug(meta, message),
  info: (message: string, meta: object = {}) => log.info(meta, message),
  warn: (message: string, meta: object = {}) => log.warn(meta, message),
  error: (message: string, meta: object = {}) => log.error(meta, message),
});
const levelOf = (level: string): "trace" | "debug" | "info" | "warn" | "error" => {
  const lower = level.toLowerCase();
  return lower === "trace" || lower === "debug" || lower === "warn" || lower === "error" ? lower : "info";
};
