/**
 * The one listener of the API: plain, or with TLS when the server ends it itself. With an authority for clients TLS asks
 * for a certificate and lets everybody in without one: browsers share the port, and agents are judged at the OpAMP door.
 */
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";

/** PEM. */
export type ListenerTls = { cert: string; key: string; clientCa?: string };

/**
 * Somebody who opens sockets and says nothing, or one letter a second, keeps each for less than half a minute. A body has
 * no limit here: uploads are large, and each route that reads one has its own.
 */
export const LISTENER_LIMITS = {
  headersTimeout: 20_000,
  requestTimeout: 0,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 72_000,
} as const;

/**
 * Connections that the system keeps until we take them; it caps this itself (`net.core.somaxconn`). What comes beyond is
 * dropped and tried again after seconds, so that of ten thousand agents that come back at once some would take minutes.
 */
export const LISTEN_BACKLOG = 4_096;

export function createListenerServer(
  handler: RequestListener,
  tls?: ListenerTls,
  limits: Partial<Record<keyof typeof LISTENER_LIMITS, number>> = {},
): Server {
  const options = { ...LISTENER_LIMITS, ...limits };
  if (tls === undefined) return createServer(options, handler);
  const { cert, key, clientCa } = tls;
  const asked = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: false };
  const server = createTlsServer(
    { ...options, cert, key, ...asked, handshakeTimeout: options.headersTimeout },
    handler,
  );
  return server;
}
