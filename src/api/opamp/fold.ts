/**
 * What agents report is folded into memory and written in batches: ten thousand heartbeats are not ten thousand
 * transactions. Changes go every 250 ms, mere signs of life every two seconds. A batch that cannot be written (database
 * away) stays in memory and is tried again; agents notice nothing.
 */
import { CHANNELS } from "../../domain/channels.ts";
import { addConnectionEvents, relink, touchAgents, writeAgents } from "../../store/agents.ts";
import type { ConnectionEvent, LinkChange } from "../../store/agents.ts";
import { notify, transaction, type Pool } from "../../store/database.ts";
import type { Agent, Registry } from "./registry.ts";

export type Fold = {
  /** `identity`: kind, host or attributes changed, so links are judged again. `effectiveConfig`: sealed bytes. */
  changed(agent: Agent, more?: { identity?: boolean; effectiveConfig?: Buffer }): void;
  /** Only its time and sequence number changed. */
  heard(agent: Agent): void;
  happened(event: ConnectionEvent): void;
  /** Resolves once everything up to now is written, or the attempt failed. */
  flush(): Promise<void>;
  stop(): Promise<void>;
};
type Deps = {
  pool: Pool;
  registry: Registry;
  replica: string;
  now: () => Date;
  onLinks: (changes: LinkChange[]) => void;
  onError: (error: unknown) => void;
};
type Pending = { identity: boolean; effectiveConfig: Buffer | undefined };

const CHANGES_MS = 250;
const BEATS_MS = 2_000;
const MAX_ROWS = 1_000;
/** Events of agents while the database is away; older ones are dropped first. */
const MAX_EVENTS = 50_000;

export function createFold(deps: Deps): Fold {
  const { pool, registry, replica, now, onLinks, onError } = deps;
  let dirty = new Map<Agent, Pending>();
  let beats = new Set<Agent>();
  let events: ConnectionEvent[] = [];
  let beatsAtMs = now().getTime();
  let running: Promise<void> | undefined;

  const markChanged: Fold["changed"] = (agent, more = {}) => {
    const before = dirty.get(agent);
    dirty.set(agent, {
      identity: (before?.identity ?? false) || (more.identity ?? false),
      effectiveConfig: more.effectiveConfig ?? before?.effectiveConfig,
    });
  };

  const writeChanges = async (): Promise<void> => {
    const [batch, said] = [dirty, events];
    if (batch.size === 0 && said.length === 0) return;
    dirty = new Map();
    events = [];
    try {
      const links = await transaction(pool, (tx) => writeBatch(tx, batch, said, replica, now()));
      if (links.length > 0) onLinks(links);
    } catch (error) {
      for (const [agent, pending] of batch) markChanged(agent, omitUndefined(pending));
      events = [...said, ...events].slice(-MAX_EVENTS);
      throw error;
    }
    for (const agent of batch.keys()) if (agent.connection === undefined && !dirty.has(agent)) registry.forget(agent);
  };

  const writeBeats = async (): Promise<void> => {
    if (now().getTime() - beatsAtMs < BEATS_MS || beats.size === 0) return;
    beatsAtMs = now().getTime();
    const batch = Array.from(beats).filter((agent) => agent.connection !== undefined && !dirty.has(agent));
    beats = new Set();
    for (let at = 0; at < batch.length; at += MAX_ROWS) {
      const rows = batch
        .slice(at, at + MAX_ROWS)
        .flatMap(({ uid, record }) =>
          record === undefined ? [] : [{ uid, seenAt: record.lastSeenAt, sequenceNum: record.sequenceNum }],
        );
      // Somebody deleted these: the next message of each is answered like a stranger's.
      for (const uid of await touchAgents(pool, rows)) forgetRow(registry.get(uid));
    }
  };

  const flush = async (): Promise<void> => {
    await running;
    running = writeChanges()
      .then(writeBeats)
      .catch(onError)
      .finally(() => {
        running = undefined;
      });
    await running;
  };
  const timer = setInterval(() => {
    if (running === undefined) void flush();
  }, CHANGES_MS);
  timer.unref();
  return {
    changed: markChanged,
    heard: (agent) => void beats.add(agent),
    happened: (event) => void events.push(event),
    flush,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

async function writeBatch(
  tx: Parameters<Parameters<typeof transaction>[1]>[0],
  batch: ReadonlyMap<Agent, Pending>,
  events: readonly ConnectionEvent[],
  replica: string,
  now: Date,
): Promise<LinkChange[]> {
  const writes = Array.from(batch).flatMap(([{ record }, { effectiveConfig }]) =>
    record === undefined ? [] : [{ record, effectiveConfig: effectiveConfig ?? null }],
  );
  for (let at = 0; at < writes.length; at += MAX_ROWS)
    await writeAgents(tx, writes.slice(at, at + MAX_ROWS), replica, now);
  const renamed = Array.from(batch).flatMap(([agent, { identity }]) => (identity ? [agent.uid] : []));
  const links = renamed.length === 0 ? [] : await relink(tx, renamed);
  await addConnectionEvents(tx, events);
  if (writes.length > 0) await notify(tx, CHANNELS.agents);
  return links;
}

const omitUndefined = ({ identity, effectiveConfig }: Pending): { identity: boolean; effectiveConfig?: Buffer } =>
  effectiveConfig === undefined ? { identity } : { identity, effectiveConfig };

function forgetRow(agent: Agent | undefined): void {
  if (agent === undefined) return;
  agent.record = undefined;
  agent.lastSequence = undefined;
  agent.askedFull = false;
}
