/**
 * Sends what is open for an agent that is connected here: when its row says so (NOTIFY), when it connects, and from a
 * sweep that costs at most ten seconds when a notification was lost. Level, not edge: each time the row is read again,
 * with its rollout's hold, and `sent_at` is committed before a byte leaves. A crash in between sends it again at the next
 * connect; the hashes are the same, so an agent that has begun takes it as the same offer.
 */
import { mayLeave, tokenIsHalfSpent } from "../../domain/agents/offer-gate.ts";
import { BRAND } from "../../domain/brand.ts";
import { CHANNELS } from "../../domain/channels.ts";
import { AGENT_CAPABILITY, hasBit } from "../../protocol/messages.ts";
import type { ServerToAgent } from "../../protocol/messages.ts";
import { forgetPackageFailures, noteConfigsSent, type SentConfig } from "../../store/agent-config.ts";
import type { AgentRecord } from "../../store/agents.ts";
import { transaction, type Pool } from "../../store/database.ts";
import type { Listener } from "../../store/listen.ts";
import { lockOpenOffers, markAllSent, recipientsDue, type OpenOffer } from "../../store/offers-delivery.ts";
import { chooseBaseUrl } from "../base-url.ts";
import { mintDownloadToken } from "../download-token.ts";
import type { Connection } from "./connection.ts";
import type { PackageStatusView } from "./apply-report.ts";
import { noteSent } from "./note-sent.ts";
import { configMessage, packageMessage, sendableOf, type Sendable } from "./offer-message.ts";
import type { Registry } from "./registry.ts";

export type Delivery = {
  /**
   * The agent's open offer is looked at soon: resolves when it was. A connection that is not `ready` only notes that it is
   * `due`: whoever answers its next request wakes the agent again then.
   */
  wake(uid: string): Promise<void>;
  /** Everything that waits or whose token is half spent is looked at. */
  sweep(): Promise<void>;
  /** Resolves when nothing is being delivered; nothing new begins. */
  stop(): Promise<void>;
};
type DeliverySettings = { downloadTokenTtlMs: number; agentBaseUrls: readonly string[]; publicUrl: string };
type Deps = {
  pool: Pool;
  listener: Listener;
  registry: Registry;
  settings: DeliverySettings;
  /** Signs download tokens: the first of `secrets.keyFile`. */
  key: Uint8Array;
  now: () => Date;
  onError: (error: unknown) => void;
};

/** Recipients of one transaction. While it runs the next ones gather. */
const BATCH = 200;
const SWEEP_ROWS = 5_000;

export function createDelivery(deps: Deps): Delivery {
  const { listener, registry, onError } = deps;
  const waiting = new Set<string>();
  let running: Promise<void> | undefined;
  const ending = new AbortController();

  const work = async (): Promise<void> => {
    while (waiting.size > 0 && !ending.signal.aborted) {
      const uids = Array.from(waiting).slice(0, BATCH);
      for (const uid of uids) waiting.delete(uid);
      try {
        await deliver(uids, deps);
      } catch (error) {
        // The rows still say what is open: the sweep comes back to them.
        onError(error);
      }
    }
    running = undefined;
  };
  const wake = async (uid: string): Promise<void> => {
    const connection = registry.get(uid)?.connection;
    if (ending.signal.aborted || connection === undefined) return;
    connection.due = !connection.ready;
    if (connection.due) return;
    waiting.add(uid);
    running ??= Promise.resolve().then(work);
    await running;
  };
  const wakeAll = (): void => {
    for (const { uid } of registry.all()) void wake(uid);
  };
  const off = listener.on(CHANNELS.offers, (payload) => {
    if (payload) void wake(payload);
    else wakeAll();
  });
  return {
    wake,
    async sweep() {
      const { downloadTokenTtlMs: ttlMs } = deps.settings;
      const halfSpentBefore = ttlMs > 0 ? new Date(deps.now().getTime() - ttlMs / 2) : null;
      for (const uid of await recipientsDue(deps.pool, halfSpentBefore, SWEEP_ROWS)) void wake(uid);
    },
    async stop() {
      ending.abort();
      off();
      await running;
    },
  };
}

type Parcel = { uid: string; offer: OpenOffer; what: Sendable; record: AgentRecord; connection: Connection };

async function deliver(uids: readonly string[], deps: Deps): Promise<void> {
  const parcels = await transaction(deps.pool, async (tx) => {
    const open = await lockOpenOffers(tx, uids);
    const ready = Array.from(open).flatMap(([uid, offer]) => pack(uid, offer, deps));
    const sendings = ready.map(({ offer, what }) => ({ offer: offer.id, withToken: what.kind === "package" }));
    const sent = await markAllSent(tx, sendings, deps.now());
    const leaving = ready.filter(({ offer }) => sent.has(offer.id));
    await noteConfigsSent(tx, leaving.flatMap(configOf), deps.now());
    await forgetPackageFailures(tx, leaving.flatMap(newPackageOf));
    return leaving;
  });
  for (const { uid, offer, what, record, connection } of parcels) {
    // Whoever went away meanwhile gets it at the next connect.
    if (connection.agent?.uid !== uid) continue;
    const tokenAtMs = deps.now().getTime();
    connection.sent = { offer: offer.id, tokenAtMs };
    forgetOlder(record, offer, what);
    connection.send(messageFor(uid, what, record, tokenAtMs, deps));
  }
}

const configOf = ({ uid, offer, what }: Parcel): SentConfig[] =>
  what.kind === "config"
    ? [{ uid, hash: what.configHash, by: offer.direction === "take_back" ? "take_back" : "offer" }]
    : [];

const newPackageOf = ({ uid, offer, what }: Parcel): { recipient: string; packagesHash: string }[] =>
  what.kind === "package" && offer.sentAt === null
    ? [{ recipient: uid, packagesHash: what.packagesHash.toString("hex") }]
    : [];

/** An older failure of the same thing says nothing of the offer that leaves now. */
function forgetOlder(record: AgentRecord, offer: OpenOffer, what: Sendable): void {
  if (what.kind === "config") noteSent(record, what.configHash);
  else if (offer.sentAt === null && hasFailed(record, what.packagesHash)) record.packageStatus = null;
}

const hasFailed = ({ packageStatus }: AgentRecord, packagesHash: Buffer): boolean => {
  const status = packageStatus as PackageStatusView | null;
  return status?.status === "install_failed" && status.allPackagesHash === packagesHash.toString("hex");
};

/** None when nothing leaves for this agent now. */
function pack(uid: string, offer: OpenOffer, deps: Deps): Parcel[] {
  const { connection, record } = deps.registry.get(uid) ?? {};
  if (connection === undefined || record === undefined) return [];
  if (!connection.ready) {
    connection.due = true;
    return [];
  }
  const what = whatToSend(offer, connection, record, deps);
  return what === undefined ? [] : [{ uid, offer, what, record, connection }];
}

/** Undefined: nothing leaves now. */
function whatToSend(offer: OpenOffer, connection: Connection, record: AgentRecord, deps: Deps): Sendable | undefined {
  const { direction, holds, ending } = offer;
  const gate = { direction, holds, ending: ending !== null, sentBefore: offer.sentAt !== null };
  if (!mayLeave(gate)) return undefined;
  const what = sendableOf(offer);
  if (what === undefined) return undefined;
  const needed = what.kind === "config" ? AGENT_CAPABILITY.acceptsRemoteConfig : AGENT_CAPABILITY.acceptsPackages;
  if (!hasBit(record.capabilities, needed)) return undefined;
  // Packages go to updaters only: an agent of another name that accepts packages is none of ours.
  if (what.kind === "package" && record.kind !== "updater") return undefined;
  return isNews(offer, what, connection, record, deps) ? what : undefined;
}

/** Whether the agent has not got this from us already, over this connection or by its own report. */
function isNews(offer: OpenOffer, what: Sendable, { sent }: Connection, record: AgentRecord, deps: Deps): boolean {
  if (offer.sentAt === null) return true;
  if (what.kind === "config")
    // The hash counts, whatever became of it: a configuration that FAILED was received too, also by an agent that returned
    // to the one before since.
    return sent?.offer !== offer.id && !wasReceived(record, what.configHash);
  const tokenAtMs = sent?.offer === offer.id ? sent.tokenAtMs : (offer.tokenAt?.getTime() ?? 0);
  // The host has it and failed: its backoff decides when it tries again, a reconnect is no reason to send it once more.
  if (sent?.offer !== offer.id && !hasFailed(record, what.packagesHash)) return true;
  return tokenIsHalfSpent(tokenAtMs, deps.settings.downloadTokenTtlMs, deps.now().getTime());
}

const wasReceived = ({ remoteConfigHash, failedConfigHash }: AgentRecord, hash: Buffer): boolean =>
  remoteConfigHash?.equals(hash) === true || failedConfigHash?.equals(hash) === true;

function messageFor(uid: string, what: Sendable, record: AgentRecord, issuedAtMs: number, deps: Deps): ServerToAgent {
  if (what.kind === "config") return configMessage(uid, what.body, what.configHash);
  const { agentBaseUrls, publicUrl } = deps.settings;
  const endpoint = record.attributes[BRAND.attributes.serverEndpoint];
  const base = chooseBaseUrl(typeof endpoint === "string" ? endpoint : undefined, agentBaseUrls, publicUrl);
  const token = mintDownloadToken(deps.key, { artifact: what.artifact.id, agent: uid, issuedAtMs });
  return packageMessage(uid, what, { base, token });
}
