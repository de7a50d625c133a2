/** Metrics for Prometheus, on a listener of their own: no credential, so they never leave the inner network by the API. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Address } from "../domain/config/server-schema.ts";
import { ROLLOUT_STATES } from "../domain/rollout/phases.ts";
import { auditHead } from "../store/audit-read.ts";
import type { Pool } from "../store/database.ts";
import { countAgents, countRollouts } from "../store/system.ts";

/** Numbers that come from the database are read when they are asked for: every replica says the same. */
export function createMetrics(pool: Pool): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "myriarch_" });
  const registers = [registry];
  const agents = new Gauge({
    name: "myriarch_agents",
    help: "Agents by what they are",
    labelNames: ["what"],
    registers,
    collect: async () => {
      for (const [what, count] of Object.entries(await countAgents(pool))) agents.set({ what }, count);
    },
  });
  const rollouts = new Gauge({
    name: "myriarch_rollouts",
    help: "Rollouts of changes by state",
    labelNames: ["state"],
    registers,
    collect: async () => {
      const counts = await countRollouts(pool);
      for (const state of ROLLOUT_STATES) rollouts.set({ state }, counts.get(state) ?? 0);
    },
  });
  const head = new Gauge({
    name: "myriarch_audit_head",
    help: "Number of the newest audit row; its hash as label, so that a cut tail is found",
    labelNames: ["hash"],
    registers,
    collect: async () => {
      const newest = await auditHead(pool);
      head.reset();
      if (newest !== null) head.set({ hash: newest.hash }, Number(newest.seq));
    },
  });
  return registry;
}

/** Serves `/metrics` until `close`. A failing read answers 503 with the cause in the log, not in the answer. */
export async function serveMetrics(
  registry: Registry,
  listen: Address,
  onError: (error: Error) => void,
): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    if (request.url !== "/metrics") {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { "content-type": registry.contentType }).end(text),
      (error: Error) => {
        onError(error);
        response.writeHead(503).end();
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(listen.port, listen.host, resolve);
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    url: `http://${address.includes(":") ? `[${address}]` : address}:${port}/metrics`,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}
