/** Whose request it is, by address: that of the connection, or what proxies of `server.trustedProxies` say is before them. */
import proxyAddr from "@fastify/proxy-addr";
import type { IncomingMessage } from "node:http";

export type ClientAddress = (request: IncomingMessage) => string;

/**
 * Reads `X-Forwarded-For` from its end as far as each hop is trusted, as fastify does for the other routes: what a stranger
 * writes there counts for nothing.
 */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  return (request) =>
    // A socket that is gone has no address any more.
    request.socket.remoteAddress === undefined ? "" : proxyAddr(request, isTrusted);
}
