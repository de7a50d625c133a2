/**
 * Metrics of a node for Prometheus (depot-anchors 4). Paths of disks are in them; tokens, addresses and digests are not.
 */
import { randomUUID } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { Counter, Gauge, Registry } from "prom-client";
import type { NodeStatus } from "../domain/depot/node-status.ts";
import { baseServer, type ListenerOptions } from "./listener.ts";
import { FLOWS } from "./meter.ts";
import type { DepotNode } from "./node.ts";

type Value = { labels?: Record<string, string>; value: number };
type Define = (name: string, help: string, values: readonly Value[]) => void;

/** Read when they are asked for: nothing that is not so any more stays. */
export async function readMetrics(node: DepotNode): Promise<{ type: string; text: string }> {
  const registry = new Registry();
  const registers = [registry];
  const namesOf = (values: readonly Value[]): string[] => Object.keys(values[0]?.labels ?? {});
  const gauge: Define = (name, help, values) => {
    const metric = new Gauge({ name, help, labelNames: namesOf(values), registers });
    for (const { labels = {}, value } of values) metric.set(labels, value);
  };
  const counter: Define = (name, help, values) => {
    const metric = new Counter({ name, help, labelNames: namesOf(values), registers });
    for (const { labels = {}, value } of values) metric.inc(labels, value);
  };
  const status = await node.status();
  defineCopies(gauge, status, await node.quarantined());
  defineTraffic(gauge, counter, node);
  defineScrubs(gauge, counter, status, node.scrub.bytes());
  return { type: registry.contentType, text: await registry.metrics() };
}

function defineCopies(gauge: Define, { config, disks }: NodeStatus, quarantined: number): void {
  const generation = config === null ? [] : [{ value: config.generation }];
  gauge(
    "depot_config_generation",
    "Generation of the configuration in force; absent while none is trusted",
    generation,
  );
  gauge(
    "depot_artifacts",
    "Wanted artifacts on every disk, on some, on none, and copies that were put aside as wrong",
    [
      { labels: { state: "ok" }, value: config?.complete ?? 0 },
      { labels: { state: "degraded" }, value: config?.partial ?? 0 },
      { labels: { state: "missing" }, value: config?.missing ?? 0 },
      { labels: { state: "corrupt" }, value: quarantined },
    ],
  );
  const up = disks.map(({ path, state }) => ({ labels: { disk: path }, value: state === "ok" ? 1 : 0 }));
  gauge("depot_disk_up", "1: the disk takes part; 0: it has failed", up);
  const free = disks.flatMap(({ path: disk, freeBytes }) =>
    freeBytes === null ? [] : [{ labels: { disk }, value: freeBytes }],
  );
  gauge("depot_disk_free_bytes", "Free bytes of a disk that answers", free);
}

function defineTraffic(gauge: Define, counter: Define, { meter, slots, ended }: DepotNode): void {
  counter(
    "depot_bytes_total",
    "Bytes of artifacts, by whom they came from (controller, depot) or went out for (install, replicate)",
    FLOWS.map((flow) => ({ labels: { dir: flow.dir, peer_class: flow.peer }, value: meter.bytes(flow) })),
  );
  gauge("depot_transfers", "Transfers into this node that run, and that wait for a slot", [
    { labels: { state: "active" }, value: slots.taken() },
    { labels: { state: "queued" }, value: slots.waiting() },
  ]);
  const { done, failed } = ended();
  counter("depot_transfers_ended_total", "Transfers into this node that ended", [
    { labels: { result: "done" }, value: done },
    { labels: { result: "failed" }, value: failed },
  ]);
}

function defineScrubs(gauge: Define, counter: Define, { scrub }: NodeStatus, bytes: number): void {
  const found = Object.entries(scrub.found).map(([result, value]) => ({ labels: { result }, value }));
  counter("depot_scrub_copies_total", "Copies that scrubs looked at, by what they found", found);
  counter("depot_scrub_bytes_total", "Bytes that scrubs read", [{ value: bytes }]);
  const ended = [
    { kind: "light", at: scrub.lightEndedAt },
    { kind: "deep", at: scrub.deepEndedAt },
  ].flatMap(({ kind, at }) => (at === null ? [] : [{ labels: { kind }, value: Date.parse(at) / 1_000 }]));
  gauge("depot_scrub_ended_timestamp_seconds", "When a scrub last ended; absent before the first", ended);
  const running = scrub.running === null ? [] : [{ labels: { kind: scrub.running.kind }, value: 1 }];
  gauge("depot_scrub_running", "1 while a scrub of this kind runs", running);
}

/** A listener for metrics alone, which asks for no token. Not listening yet. */
export function buildMetricsServer(node: DepotNode, options: Pick<ListenerOptions, "log">): FastifyInstance {
  const app = baseServer({ ...options, token: randomUUID() });
  app.get("/metrics", { config: { open: true } }, async (_request, reply) => {
    const { type, text } = await readMetrics(node);
    return reply.type(type).send(text);
  });
  return app;
}
