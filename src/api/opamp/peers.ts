/**
 * What processes of one database tell each other about connections: who speaks here now, whom somebody deleted, and that
 * a credential changed. A lost notification costs little: a dead connection is cut by its silence, an ended credential by
 * the next look at it, and a deleted row is missed when it is written.
 */
import { CHANNELS } from "../../domain/channels.ts";
import { notify, type Pool } from "../../store/database.ts";
import type { Listener } from "../../store/listen.ts";

type Deps = {
  pool: Pool;
  /** Must listen to CHANNELS.connections and CHANNELS.credentials. */
  listener: Listener;
  replica: string;
  onMovedAway: (uid: string, replica: string) => void;
  onDeleted: (uid: string) => void;
  onCredentials: () => void;
  onError: (error: unknown) => void;
};
export type Peers = {
  /** Tells the others that this agent speaks here now, soon. */
  took(uid: string): void;
  /** Resolves once the others were told of all of them: nobody is to read it in a row before. */
  told(): Promise<void>;
  stop(): void;
};

const GATHER_MS = 50;
/** A payload has at most 8,000 bytes; a UID takes 37. */
const UIDS_PER_PAYLOAD = 200;

export function createPeers(deps: Deps): Peers {
  let taken: string[] = [];
  let timer: NodeJS.Timeout | undefined;

  let telling: Promise<void> = Promise.resolve();

  const tell = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const uids = taken;
    taken = [];
    for (let at = 0; at < uids.length; at += UIDS_PER_PAYLOAD) {
      const some = uids.slice(at, at + UIDS_PER_PAYLOAD);
      await notify(deps.pool, CHANNELS.connections, ["moved", deps.replica, ...some].join(" "));
    }
  };
  const told = (): Promise<void> => {
    telling = Promise.all([telling, tell().catch(deps.onError)]).then(() => undefined);
    return telling;
  };
  const heard = (payload = ""): void => {
    const [what, ...rest] = payload.split(" ");
    if (what === "deleted") for (const uid of rest) deps.onDeleted(uid);
    const [replica = "", ...uids] = rest;
    if (what === "moved" && replica !== deps.replica) for (const uid of uids) deps.onMovedAway(uid, replica);
  };
  const off = [
    deps.listener.on(CHANNELS.connections, heard),
    deps.listener.on(CHANNELS.credentials, () => deps.onCredentials()),
  ];
  return {
    took(uid) {
      taken.push(uid);
      timer ??= setTimeout(() => void told(), GATHER_MS).unref();
    },
    told,
    stop() {
      clearTimeout(timer);
      for (const end of off) end();
    },
  };
}
