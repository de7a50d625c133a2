/** A worker of the rollout engine as a process of its own, so that a test can kill it: database, address, namespace,
 * workflow bundle. */
import { Client, Connection } from "@temporalio/client";
import { DefaultLogger, NativeConnection, Runtime, Worker } from "@temporalio/worker";
import { createRolloutActivities } from "../../src/activities/rollouts.ts";
import { CHANNELS } from "../../src/domain/channels.ts";
import { openPool } from "../../src/store/database.ts";
import { createListener } from "../../src/store/listen.ts";
import { QUEUES } from "../../src/workflows/messages.ts";

const [url = "", address = "", namespace = "", codePath = ""] = process.argv.slice(2);
Runtime.install({ logger: new DefaultLogger("ERROR") });
const fail = (error: Error): void => console.error(error.message);
const client = new Client({ connection: await Connection.connect({ address }), namespace });
const connection = await NativeConnection.connect({ address });
const activities = createRolloutActivities({
  pool: openPool(url, fail),
  listener: await createListener({ url, channels: Object.values(CHANNELS), onError: fail }),
  client,
  now: () => new Date(),
  log: { info: () => undefined, warn: () => undefined, error: () => undefined },
});
const options = { connection, namespace, activities, maxHeartbeatThrottleInterval: "1s" } as const;
const workers = [
  await Worker.create({ ...options, taskQueue: QUEUES.control, workflowBundle: { codePath } }),
  await Worker.create({ ...options, taskQueue: QUEUES.observe }),
];
const runs = workers.map((worker) => worker.run());
console.log("ready");
await Promise.all(runs);
