/**
 * Who is let in, whatever the transport: first the credential, then the rate of new connections. Refused credentials of
 * one address are counted, and above a limit they are told to wait; a good credential from the same address is never
 * locked out, because agents share the address of a proxy. That costs little: answers are cached and asked together.
 */
import type { IncomingMessage } from "node:http";
import type { ClientAddress } from "../client-address.ts";
import { admit, freshQuota } from "./accept-quota.ts";
import { shownCertificate } from "./client-certificate.ts";
import type { Credential, Credentials } from "./credentials.ts";

export type Refusal = {
  status: 401 | 429 | 503;
  code: "unauthenticated" | "rate_limited" | "server_busy" | "database_unavailable";
  retryAfterS?: number;
};
/** Who is let in: by which credential, from where. */
export type Entrant = { credential: Credential; address: string };
export type Admission = {
  /** Whose request it is. Nothing of its body is read for this. */
  identify: (request: IncomingMessage) => Promise<Entrant | { refusal: Refusal; address: string }>;
  /** Takes one place of this second's new connections; a refusal when there is none. */
  place: () => Refusal | undefined;
  /** Nobody is let in from now on. */
  shut: () => void;
};
type Deps = {
  credentials: Credentials;
  addressOf: ClientAddress;
  acceptPerSecond: number;
  /** In [0, 1). */
  chance: () => number;
  now: () => Date;
  onError: (error: unknown) => void;
};

/** Refused credentials of one address per minute. A token is 256 bits: this is about load, not guessing. */
const REFUSED_PER_MINUTE = 60;
const MAX_ADDRESSES = 10_000;
const BUSY_S = 5;
const WAIT_S = 30;

export function createAdmission(deps: Deps): Admission {
  const { credentials, addressOf, acceptPerSecond, chance, now, onError } = deps;
  const refused = createRefusedCount(now);
  let quota = freshQuota(acceptPerSecond, now().getTime());
  let open = true;
  const later = (atLeastS: number): number => atLeastS + Math.floor(chance() * atLeastS);
  const busy = (retryAfterS: number): Refusal => ({ status: 503, code: "server_busy", retryAfterS });

  return {
    async identify(request) {
      const address = addressOf(request);
      if (!open) return { refusal: busy(later(BUSY_S)), address };
      const certificate = shownCertificate(request.socket, now().getTime());
      let credential: Credential | undefined;
      try {
        credential = await credentials.check({ authorization: request.headers.authorization, certificate });
      } catch (error) {
        onError(error);
        const retryAfterS = later(BUSY_S);
        return { refusal: { status: 503, code: "database_unavailable", retryAfterS }, address };
      }
      if (credential !== undefined) return { credential, address };
      return refused.isOneMoreTooMany(address)
        ? { refusal: { status: 429, code: "rate_limited", retryAfterS: later(WAIT_S) }, address }
        : { refusal: { status: 401, code: "unauthenticated" }, address };
    },
    place() {
      if (!open) return busy(later(BUSY_S));
      const admission = admit(quota, acceptPerSecond, now().getTime(), chance());
      quota = admission.quota;
      return admission.admitted ? undefined : busy(admission.retryAfterS);
    },
    shut() {
      open = false;
    },
  };
}

function createRefusedCount(now: () => Date): { isOneMoreTooMany: (address: string) => boolean } {
  let minute = 0;
  let counts = new Map<string, number>();
  return {
    isOneMoreTooMany(address) {
      const at = Math.floor(now().getTime() / 60_000);
      if (at !== minute || counts.size >= MAX_ADDRESSES) {
        minute = at;
        counts = new Map();
      }
      const count = (counts.get(address) ?? 0) + 1;
      counts.set(address, count);
      return count > REFUSED_PER_MINUTE;
    },
  };
}
