/** An open offer as the agent gets it (contract, "Package offers"). Pure: the token and the base URL come as arguments. */
import { BRAND } from "../../domain/brand.ts";
import { withV } from "../../domain/update/version.ts";
import { PACKAGE_TYPE } from "../../protocol/messages.ts";
import type { ServerToAgent } from "../../protocol/messages.ts";
import type { OfferedArtifact, OpenOffer } from "../../store/offers-delivery.ts";
import { downloadUrl } from "../base-url.ts";

type Download = { base: string; token: string };

/** The whole set of packages, which is one package. Hashes depend on neither token nor time. */
export function packageMessage(
  uid: string,
  offer: { version: string; packagesHash: Uint8Array; artifact: OfferedArtifact },
  { base, token }: Download,
): ServerToAgent {
  const { artifact, packagesHash, version } = offer;
  const file = {
    downloadUrl: downloadUrl(base, artifact.id, artifact.fileName),
    contentHash: artifact.sha256,
    signature: Buffer.from(artifact.bundle, "utf8"),
    headers: [{ key: "Authorization", value: `Bearer ${token}` }],
  };
  const one = { type: PACKAGE_TYPE.topLevel, version: withV(version), hash: packagesHash, file };
  return message(uid, {
    packagesAvailable: { packages: new Map([[BRAND.packageName, one]]), allPackagesHash: packagesHash },
  });
}

/** The one file of a configuration, under the empty name. */
export function configMessage(uid: string, body: Uint8Array, configHash: Uint8Array): ServerToAgent {
  return message(uid, {
    remoteConfig: { config: new Map([["", { body, contentType: "text/yaml" }]]), configHash },
  });
}

const message = (instanceUid: string, offered: Partial<ServerToAgent>): ServerToAgent => ({
  instanceUid,
  flags: 0n,
  capabilities: 0n,
  ...offered,
});

export type Sendable =
  | { kind: "config"; body: Buffer; configHash: Buffer }
  | { kind: "package"; version: string; packagesHash: Buffer; artifact: OfferedArtifact };

/** What of an offer can be put into a message; undefined: it names nothing to send (a withdrawal without an artifact). */
export function sendableOf(offer: OpenOffer): Sendable | undefined {
  const { version, packagesHash, artifact, configHash, body } = offer;
  if (offer.kind === "config") {
    // An empty hash would never be reported back, an empty body stops a collector.
    if (configHash === null || configHash.length === 0 || body === null || body.length === 0) return undefined;
    return { kind: "config", body, configHash };
  }
  if (version === null || packagesHash === null || packagesHash.length === 0 || artifact === null) return undefined;
  return { kind: "package", version, packagesHash, artifact };
}
