/** The API process: REST, page, webhook, OpAMP, downloads. Keeps nothing that `kill -9` could lose. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import { buildApi } from "../../api/app.ts";
import { createEventHub } from "../../api/event-hub.ts";
import { createGitSyncPoke } from "../../api/gitops-poke.ts";
import { LISTEN_BACKLOG } from "../../api/listener.ts";
import { createMetrics, serveMetrics } from "../../api/metrics.ts";
import { createOpampServer } from "../../api/opamp/server.ts";
import { repeatDeliveries } from "../../api/repeat-deliveries.ts";
import { opampRoutes } from "../../api/routes/opamp.ts";
import { createRolloutControls } from "../../api/rollout-controls.ts";
import type { ServerSettings } from "../../domain/config/server-config.ts";
import { readListenerTls } from "./listener-tls.ts";
import { openShared } from "./load.ts";
import { createPlugins } from "./plugins.ts";
import { endsGracefully } from "./supervise.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const POOL_SIZE = 20;
const now = (): Date => new Date();

/** Serves until the process is told to end. Prints one ready line on stdout when it listens. */
export async function runApi(settings: ServerSettings, log: Logger): Promise<void> {
  const { onEnd } = endsGracefully(log);
  const shared = await openShared(settings, log, POOL_SIZE);
  onEnd(() => shared.close());
  const { pool, listener, client, keys } = shared;
  const hub = await createEventHub({ pool, listener, now, onError: (err) => log.warn({ err }, "events not read") });
  onEnd(() => hub.close());
  const opamp = createOpampServer({ pool, listener, settings, keys, log, now });
  const plugins = await createPlugins(settings, shared, log);
  const deliveries = repeatDeliveries({
    pool,
    poke: createGitSyncPoke(client),
    now,
    onError: (err) => log.warn({ err }, "a delivery still waits"),
  });
  onEnd(() => deliveries.stop());
  const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as { version: string };
  const app = await buildApi({
    settings,
    pool,
    hub,
    now,
    log,
    version,
    controls: createRolloutControls({ pool, client, now }),
    temporal: { reachable: shared.temporalReachable },
    webDir: `${ROOT}web`,
    tls: await readListenerTls(settings.server.tls),
    plugins: { ...plugins, root: [...plugins.root, opampRoutes(opamp)] },
  });
  onEnd(() => app.close());
  opamp.attach(app.server);
  onEnd(() => opamp.close());
  const metrics = await serveMetrics(createMetrics(pool), settings.telemetry.metricsListen, (err) =>
    log.warn({ err }, "metrics not read"),
  );
  onEnd(() => metrics.close());
  const { host, port } = settings.server.listen;
  const address = await app.listen({ host, port, backlog: LISTEN_BACKLOG });
  // fastify does not know what a listener that it was given speaks.
  const url = settings.server.tls === undefined ? address : address.replace(/^http:/, "https:");
  log.info({ url, metrics: metrics.url }, "listening");
  console.log(JSON.stringify({ ready: true, role: "api", url, metrics: metrics.url }));
}
