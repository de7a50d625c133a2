/**
 * What agents report is folded into memory and written in batches: ten thousand heartbeats are not ten thousand
 * transactions. Changes go every 250 ms, mere signs of life every two seconds, new times within health every sixteen. A batch that cannot be written (database
 * away) stays in memory and is tried again; agents notice nothing.
 */
import type { ConnectionChange } from "../../domain/agents/connection-history.ts";
import { CHANNELS } from "../../domain/channels.ts";
import {
  addConnectionEvents,
  existingAgents,
  lockLinks,
  relink,
  touchAgents,
  writeAgents,
} from "../../store/agents.ts";
import type { Beat, ConnectionEvent, LinkChange } from "../../store/agents.ts";
import { notify, transaction, type Pool } from "../../store/database.ts";
import { createConnectionLog, type ConnectionLog } from "./connection-log.ts";
import type { Agent, Registry } from "./registry.ts";

export type Fold = {
  /** `identity`: kind, host or attributes changed, so links are judged again. `effectiveConfig`: sealed bytes. */
  changed(agent: Agent, more?: { identity?: boolean; effectiveConfig?: Buffer }): void;
  /** Only its time and sequence number changed; `health`: and times within its health report. */
  heard(agent: Agent, more?: { health: boolean }): void;
  /** Nothing of this picture of the agent is written any more: somebody else has a newer one. */
  drop(agent: Agent): void;
  happened(event: { uid: string } & ConnectionChange): void;
  /** Resolves once everything up to now is written, or the attempt failed. */
  flush(): Promise<void>;
  stop(): Promise<void>;
};
type Deps = {
  pool: Pool;
  registry: Registry;
  replica: string;
  now: () => Date;
  /** Resolves when rows may say who speaks here. */
  beforeWrite: () => Promise<void>;
  onLinks: (changes: LinkChange[]) => void;
  /** These have a row that says what they reported. */
  onWritten: (agents: readonly Agent[]) => void;
  onError: (error: unknown) => void;
};
type Pending = { identity: boolean; effectiveConfig: Buffer | undefined };

const CHANGES_MS = 250;
const BEATS_MS = 2_000;
/** Times within health reports change with every report; a row whose times are older costs nobody anything. */
const HEALTH_EVERY = 8;
const MAX_ROWS = 1_000;

export const createFold = (deps: Deps): Fold => new Batches(deps);

class Batches implements Fold {
  private readonly deps: Deps;
  private readonly timer: NodeJS.Timeout;
  private dirty = new Map<Agent, Pending>();
  /** Each of them once: `beats` of the agent says that it is here. */
  private beats: Agent[] = [];
  private readonly connections: ConnectionLog;
  private beatsAtMs = 0;
  /** Whose health reports differ from their rows in times. */
  private times = new Set<Agent>();
  private beatRounds = 0;
  private isStopping = false;
  private running: Promise<void> | undefined;

  constructor(deps: Deps) {
    this.deps = deps;
    this.connections = createConnectionLog(deps.now);
    this.timer = setInterval(() => {
      if (this.running === undefined) void this.flush();
    }, CHANGES_MS);
    this.timer.unref();
  }

  changed(agent: Agent, more: { identity?: boolean; effectiveConfig?: Buffer } = {}): void {
    if (agent.gone) return;
    const before = this.dirty.get(agent);
    this.dirty.set(agent, {
      identity: (before?.identity ?? false) || (more.identity ?? false),
      effectiveConfig: more.effectiveConfig ?? before?.effectiveConfig,
    });
  }

  heard(agent: Agent, more?: { health: boolean }): void {
    if (agent.gone) return;
    if (!agent.beats) {
      agent.beats = true;
      this.beats.push(agent);
    }
    if (more?.health === true) this.times.add(agent);
  }

  drop(agent: Agent): void {
    agent.gone = true;
    this.dirty.delete(agent);
    this.times.delete(agent);
  }

  happened({ uid, ...change }: { uid: string } & ConnectionChange): void {
    this.connections.add(uid, change);
  }

  async flush(): Promise<void> {
    await this.running;
    const write = async (): Promise<void> => {
      try {
        await this.writeChanges();
        await this.writeBeats();
      } catch (error) {
        this.deps.onError(error);
      }
      this.running = undefined;
    };
    this.running = write();
    await this.running;
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.isStopping = true;
    await this.flush();
  }

  private async writeChanges(): Promise<void> {
    const { pool, registry, replica, now, onLinks, onWritten } = this.deps;
    const batch = this.dirty;
    const events = this.connections.take();
    if (batch.size === 0 && events.length === 0) return;
    this.dirty = new Map();
    await this.deps.beforeWrite();
    const write = async (part: ReadonlyMap<Agent, Pending>, said: readonly ConnectionEvent[]): Promise<void> => {
      const links = await transaction(pool, (tx) => writeBatch(tx, part, said, replica, now()));
      if (links.length > 0) onLinks(links);
    };
    try {
      await write(batch, events).catch((error: unknown) => this.writeSingly(batch, write, error));
    } catch (error) {
      for (const [agent, { identity, effectiveConfig }] of batch)
        // What came meanwhile is newer and stays.
        this.changed(agent, { identity, ...this.olderConfig(agent, effectiveConfig) });
      this.connections.giveBack(events);
      throw error;
    }
    for (const agent of batch.keys()) agent.hasRow ||= agent.record !== undefined;
    for (const agent of batch.keys())
      if (agent.connection === undefined && !this.dirty.has(agent)) registry.forget(agent);
    if (batch.size > 0) onWritten(Array.from(batch.keys()));
  }

  /** One agent's report that the database does not take must not keep the others' from being written. */
  private async writeSingly(
    batch: ReadonlyMap<Agent, Pending>,
    write: (part: ReadonlyMap<Agent, Pending>, said: readonly ConnectionEvent[]) => Promise<void>,
    error: unknown,
  ): Promise<void> {
    if (!isRefusedData(error)) throw error;
    for (const [agent, pending] of batch)
      try {
        await write(new Map([[agent, pending]]), []);
      } catch (single) {
        if (!isRefusedData(single)) throw single;
        this.deps.onError(single);
      }
  }

  private olderConfig(agent: Agent, effectiveConfig: Buffer | undefined): { effectiveConfig?: Buffer } {
    const newer = this.dirty.get(agent)?.effectiveConfig !== undefined;
    return effectiveConfig === undefined || newer ? {} : { effectiveConfig };
  }

  private async writeBeats(): Promise<void> {
    const { pool, registry, now } = this.deps;
    if (!this.isStopping && now().getTime() - this.beatsAtMs < BEATS_MS) return;
    this.beatsAtMs = now().getTime();
    const beats = this.beats;
    this.beats = [];
    for (const agent of beats) agent.beats = false;
    const times = this.takeTimes();
    if (beats.length === 0 && times.size === 0) return;
    const batch = Array.from(new Set([...beats, ...times])).filter(
      (it) => it.connection !== undefined && !it.gone && !this.dirty.has(it),
    );
    try {
      for (let at = 0; at < batch.length; at += MAX_ROWS) {
        const part = batch.slice(at, at + MAX_ROWS).flatMap((agent) => beatOf(agent, times.has(agent)));
        // Somebody deleted these: the next message of each is answered like a stranger's.
        for (const uid of await touchAgents(pool, part)) forgetRow(registry.get(uid));
      }
    } catch (error) {
      for (const agent of beats) this.heard(agent);
      for (const agent of times) this.heard(agent, { health: true });
      throw error;
    }
  }

  private takeTimes(): Set<Agent> {
    this.beatRounds += 1;
    if (!this.isStopping && this.beatRounds % HEALTH_EVERY !== 0) return new Set();
    const times = this.times;
    this.times = new Set();
    return times;
  }
}

const beatOf = ({ uid, record }: Agent, health: boolean): Beat[] =>
  record === undefined
    ? []
    : [{ uid, seenAt: record.lastSeenAt, sequenceNum: record.sequenceNum, health: health ? record.health : null }];

/** SQLSTATE class 22, "data exception": trying the same again cannot mend it. */
const isRefusedData = (error: unknown): boolean => {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code.startsWith("22");
};

async function writeBatch(
  tx: Parameters<Parameters<typeof transaction>[1]>[0],
  batch: ReadonlyMap<Agent, Pending>,
  events: readonly ConnectionEvent[],
  replica: string,
  now: Date,
): Promise<LinkChange[]> {
  const renamed = Array.from(batch).flatMap(([agent, { identity }]) => (identity ? [agent.uid] : []));
  if (renamed.length > 0) await lockLinks(tx);
  // That an agent went away must not bring back a row that somebody deleted; a report does.
  const gone = Array.from(batch.keys()).filter(({ hasRow, connection }) => hasRow && connection === undefined);
  const kept = new Set(
    gone.length === 0
      ? []
      : await existingAgents(
          tx,
          gone.map(({ uid }) => uid),
        ),
  );
  const deleted = new Set(gone.filter(({ uid }) => !kept.has(uid)));
  const writes = Array.from(batch).flatMap(([agent, { effectiveConfig }]) => {
    if (agent.record === undefined || deleted.has(agent)) return [];
    return [{ record: agent.record, effectiveConfig: effectiveConfig ?? null }];
  });
  for (let at = 0; at < writes.length; at += MAX_ROWS)
    await writeAgents(tx, writes.slice(at, at + MAX_ROWS), replica, now);
  const links = renamed.length === 0 ? [] : await relink(tx, renamed);
  await addConnectionEvents(tx, events);
  if (writes.length > 0) await notify(tx, CHANNELS.agents);
  return links;
}

function forgetRow(agent: Agent | undefined): void {
  if (agent === undefined) return;
  agent.record = undefined;
  agent.hasRow = false;
  agent.lastSequence = undefined;
  agent.askedFull = false;
}
