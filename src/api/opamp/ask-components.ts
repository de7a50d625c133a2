/**
 * Available components: agents report a hash, and the map behind it only when they are asked (OpAMP, 2.3). The server asks
 * one agent per build and keeps the map; ten thousand equal collectors send it once.
 */
import { availableNames } from "../../domain/agents/config-needs.ts";
import { AGENT_CAPABILITY, hasBit, SERVER_FLAG } from "../../protocol/messages.ts";
import type { AgentToServer, ComponentDetails } from "../../protocol/messages.ts";
import { putComponentSet, unknownComponentSets, type SetKey } from "../../store/agent-components.ts";
import { CHANNELS } from "../../domain/channels.ts";
import { notify, type Pool } from "../../store/database.ts";
import type { Agent, Registry } from "./registry.ts";

export type AskComponents = {
  /** The agent's record says what the message reports. */
  reported: (agent: Agent, message: AgentToServer) => void;
  /** Their rows are written: a build that is not known is asked for. */
  written: (agents: readonly Agent[]) => void;
  /** Asks somebody else for what nobody answered. */
  sweep: () => void;
  stop: () => Promise<void>;
};
type Deps = { pool: Pool; registry: Registry; now: () => Date; onError: (error: unknown) => void };

/** Who was asked has this long to answer; then another agent of the build is asked. */
const ANSWER_MS = 10_000;
const MAX_KNOWN = 10_000;
const MAX_COMPONENTS = 5_000;
const MAX_NAME_CHARS = 255;
const MAX_MAP_BYTES = 2 * 1024 ** 2;

const keyText = ({ credential, hash }: SetKey): string => `${hash.toString("hex")} ${credential}`;

export function createAskComponents(deps: Deps): AskComponents {
  const { pool, registry, now, onError } = deps;
  /** Builds that have a row, and those that somebody was asked for. */
  const known = new Set<string>();
  const asked = new Map<string, { key: SetKey; atMs: number }>();
  let running: Promise<unknown> = Promise.resolve();
  const begin = (work: () => Promise<void>): void => {
    running = running.then(work).catch(onError);
  };
  const remember = (key: SetKey): void => {
    if (known.size >= MAX_KNOWN) known.clear();
    known.add(keyText(key));
    asked.delete(keyText(key));
  };
  const ask = (agent: Agent, key: SetKey): void => {
    const flags = SERVER_FLAG.reportAvailableComponents;
    const left = agent.connection?.send({ instanceUid: agent.uid, flags, capabilities: 0n }) === true;
    if (left) asked.set(keyText(key), { key, atMs: performance.now() });
  };
  const look = async (agents: readonly Agent[]): Promise<void> => {
    const one = new Map<string, { agent: Agent; key: SetKey }>();
    for (const agent of agents) {
      const key = keyOf(agent);
      if (key === undefined || known.has(keyText(key)) || asked.has(keyText(key))) continue;
      if (agent.connection !== undefined) one.set(keyText(key), { agent, key });
    }
    if (one.size === 0) return;
    const keys = Array.from(one.values(), ({ key }) => key);
    const unknown = new Set((await unknownComponentSets(pool, keys)).map(keyText));
    for (const { agent, key } of one.values()) {
      if (unknown.has(keyText(key))) ask(agent, key);
      else remember(key);
    }
  };
  const keep = async (key: SetKey, components: ReadonlyMap<string, ComponentDetails>): Promise<void> => {
    const types = typesOf(components);
    const plain = plainOf(components);
    const fits = Buffer.byteLength(JSON.stringify(plain)) <= MAX_MAP_BYTES;
    await putComponentSet(pool, { ...key, components: fits ? plain : {}, names: availableNames(types) }, now());
    remember(key);
    await notify(pool, CHANNELS.agents);
  };
  return {
    reported(agent, { availableComponents }) {
      const key = keyOf(agent);
      if (key === undefined || availableComponents === undefined || availableComponents.components.size === 0) return;
      if (!known.has(keyText(key))) begin(() => keep(key, availableComponents.components));
    },
    written: (agents) => {
      if (agents.some((agent) => agent.record?.componentsHash != null)) begin(() => look(agents));
    },
    sweep() {
      const late = Array.from(asked.values()).filter(({ atMs }) => performance.now() - atMs > ANSWER_MS);
      for (const { key } of late) asked.delete(keyText(key));
      if (late.length > 0) begin(() => look(Array.from(registry.all())));
    },
    async stop() {
      await running;
    },
  };
}

/** Undefined: it reports none, which is no fault. */
function keyOf({ record }: Agent): SetKey | undefined {
  if (record?.componentsHash == null || record.kind !== "collector") return undefined;
  if (!hasBit(record.capabilities, AGENT_CAPABILITY.reportsAvailableComponents)) return undefined;
  return { credential: record.credential, hash: record.componentsHash };
}

function typesOf(components: ReadonlyMap<string, ComponentDetails>): Map<string, string[]> {
  return new Map(
    Array.from(components, ([section, { subComponentMap }]) => [
      section.slice(0, MAX_NAME_CHARS),
      Array.from(subComponentMap.keys(), (type) => storable(type)).slice(0, MAX_COMPONENTS),
    ]),
  );
}

/** Two levels are all that a collector reports: sections and types, with their module and version. */
function plainOf(components: ReadonlyMap<string, ComponentDetails>): Record<string, unknown> {
  const typed = ({ metadata }: ComponentDetails) =>
    Object.fromEntries(
      Array.from(metadata).flatMap(([key, value]) =>
        typeof value === "string" ? [[storable(key), storable(value)]] : [],
      ),
    );
  return Object.fromEntries(
    Array.from(components, ([section, { subComponentMap }]) => [
      storable(section),
      Object.fromEntries(Array.from(subComponentMap, ([type, details]) => [storable(type), typed(details)])),
    ]),
  );
}

/** The database holds no NUL and no half of a surrogate pair. */
const storable = (text: string): string => text.slice(0, MAX_NAME_CHARS).replaceAll("\0", "\uFFFD").toWellFormed();
