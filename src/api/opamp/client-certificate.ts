/**
 * The client certificate of a connection, when TLS ends here. TLS lets everybody in, with or without one: browsers and API
 * clients share the port. Whether it counts is judged here, so that a refused agent gets an answer and not a broken socket.
 */
import type { Socket } from "node:net";
import { TLSSocket, type PeerCertificate } from "node:tls";

/** `refused`: it was not signed by our authority, is not valid now, or names nobody. */
export type ShownCertificate =
  | { shown: "none" }
  | { shown: "valid"; subject: string; validToMs: number }
  | { shown: "refused"; because: string };

const MAX_SUBJECT_CHARS = 200;

export function shownCertificate(socket: Socket, nowMs: number): ShownCertificate {
  if (!(socket instanceof TLSSocket)) return { shown: "none" };
  const certificate = socket.getPeerCertificate();
  // An empty object when there is none, whatever the declared type says.
  if (Object.keys(certificate ?? {}).length === 0) return { shown: "none" };
  if (!socket.authorized) return { shown: "refused", because: String(socket.authorizationError) };
  const validToMs = Date.parse(certificate.valid_to);
  // A resumed TLS session does not look at the dates again.
  if (!(nowMs < validToMs) || nowMs < Date.parse(certificate.valid_from))
    return { shown: "refused", because: "the certificate is not valid at this time" };
  const subject = subjectOf(certificate);
  if (subject === undefined) return { shown: "refused", because: "the certificate names nobody" };
  return { shown: "valid", subject, validToMs };
}

/** The common name; without one, the first DNS name, URI or address of the alternative names. */
function subjectOf({ subject, subjectaltname }: PeerCertificate): string | undefined {
  const names: unknown = subject?.CN;
  const common: unknown = Array.isArray(names) ? names[0] : names;
  // A quoted name holds a comma or a control character: nobody needs one, and it could pass for another name.
  const alternative = /^(?:DNS|URI|email):([^",]+)/.exec(subjectaltname ?? "")?.[1];
  const name = typeof common === "string" && common !== "" ? common : alternative;
  return name === undefined || name.length > MAX_SUBJECT_CHARS || /\p{C}/u.test(name) ? undefined : name;
}
