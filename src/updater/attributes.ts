/** What the updater says of itself (contract, "Identity and attributes"). */
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { BRAND } from "../domain/brand.ts";
import { serverEndpointAttribute } from "../domain/update/allowed-url.ts";
import type { AgentDescription, AnyValue } from "../protocol/messages.ts";
import { readUid } from "../protocol/uid.ts";
import type { UpdaterSettings } from "./config.ts";
import { readForeignFile } from "./files.ts";

const GO_OS: Record<string, string> = { win32: "windows" };
const GO_ARCH: Record<string, string> = { x64: "amd64", ia32: "386", arm: "arm" };

export function describeUpdater(
  settings: UpdaterSettings,
  version: string,
  instanceUid: string,
  collectorUid: string | undefined,
  imageCollectorVersion?: string,
): AgentDescription {
  const { attributes } = BRAND;
  const { supervisor } = settings;
  const service = supervisor.service ?? basename(supervisor.command?.[0] ?? "");
  return {
    identifyingAttributes: new Map<string, AnyValue>([
      ["service.name", BRAND.updaterServiceName],
      ["service.version", version],
      ["service.instance.id", instanceUid],
    ]),
    nonIdentifyingAttributes: new Map<string, AnyValue>([
      ["os.type", GO_OS[process.platform] ?? process.platform],
      ["host.arch", GO_ARCH[process.arch] ?? process.arch],
      ["host.name", settings.hostName ?? hostname()],
      ...optional(attributes.collectorUid, collectorUid),
      [attributes.supervisorService, service],
      [attributes.installMethod, settings.container === undefined ? "binary" : "container"],
      ...optional(attributes.imageCollectorVersion, imageCollectorVersion),
      [attributes.serverEndpoint, serverEndpointAttribute(settings.server.endpoint)],
    ]),
  };
}

const optional = (name: string, value: string | undefined): [string, AnyValue][] =>
  value === undefined ? [] : [[name, value]];

/**
 * Reads the collector's instance UID from the supervisor's `persistent_state.yaml`. The supervisor writes that file in
 * place: an empty or half one, or none, gives undefined, and the caller keeps what it knew.
 */
export async function readCollectorUid(storageDir: string): Promise<string | undefined> {
  const bytes = await readForeignFile(join(storageDir, "persistent_state.yaml"));
  // only a whole line counts: a cut one could be another id
  const line = /^instance_id:[ \t]*["']?([0-9A-Fa-f-]{36})["']?[ \t]*\r?\n/m.exec(bytes?.toString("utf8") ?? "");
  return line?.[1] === undefined ? undefined : readUid(line[1]);
}
