/** Who holds a port that supervisor or new collector will open; looked up before the supervisor is stopped. */
import { parse } from "yaml";
import { listeningPorts, METRICS_PORT, type ListeningPort } from "../domain/update/listening-ports.ts";
import { readForeignFile } from "./files.ts";
import { judgePorts } from "./host/judge-ports.ts";
import { findHolders } from "./host/ports.ts";
import { listProcesses, type HostProcess } from "./host/processes.ts";
import type { ServiceManager } from "./host/service.ts";

export type PortProblemDeps = {
  /** What the supervisor's collector runs with, and will run with again. */
  effectiveConfig: string;
  service: Pick<ServiceManager, "supervisorPid">;
  isOurs: (it: HostProcess) => boolean;
};

export function portProblemOf({ effectiveConfig, service, isOurs }: PortProblemDeps) {
  return async (): Promise<string | undefined> => {
    const wanted = await wantedPorts(effectiveConfig);
    return judgePorts({
      holders: await findHolders(new Set([METRICS_PORT, ...wanted.map(({ port }) => port)])),
      processes: await listProcesses(),
      wanted,
      supervisorPid: await service.supervisorPid(),
      isOurs,
    });
  };
}

/** None before the supervisor has written a configuration, or where it is not valid: then `validate` has the word. */
async function wantedPorts(effectiveConfig: string): Promise<ListeningPort[]> {
  const text = (await readForeignFile(effectiveConfig))?.toString("utf8") ?? "";
  if (text.trim() === "") return [];
  try {
    return listeningPorts(parse(text, { logLevel: "error" }));
  } catch {
    return []; // what the parser says of foreign text is of no use to a reader
  }
}
