/** Three depots with two disk folders each, as processes. */
import { join } from "node:path";
import { programPath, startProgram, type Program } from "../program.ts";
import type { PortBook } from "../ports.ts";
import { keptSecret, writeYaml } from "./files.ts";

export type Depots = {
  controlTokenFile: string;
  readTokenFile: string;
  nodes: { nodeId: string; controlUrl: string; readUrl: string; start(): Promise<Program> }[];
};

const NODES = ["depot-1", "depot-2", "depot-3"] as const;

/** Writes the configurations; nothing is started yet. */
export async function prepareDepots(dataDir: string, ports: PortBook): Promise<Depots> {
  const folder = join(dataDir, "depots");
  const controlTokenFile = join(folder, "control-token");
  const readTokenFile = join(folder, "read-token");
  await keptSecret(controlTokenFile);
  await keptSecret(readTokenFile);
  const nodes: Depots["nodes"] = [];
  for (const nodeId of NODES) {
    const control = `127.0.0.1:${await ports.take(`${nodeId}-control`)}`;
    const read = `127.0.0.1:${await ports.take(`${nodeId}-read`)}`;
    const file = join(folder, nodeId, "depot.yaml");
    await writeYaml(file, {
      nodeId,
      disks: [join(folder, nodeId, "disk-a"), join(folder, nodeId, "disk-b")],
      control: { listen: control, tokenFile: controlTokenFile },
      read: { listen: read, tokenFile: readTokenFile },
    });
    nodes.push({
      nodeId,
      controlUrl: `http://${control}`,
      readUrl: `http://${read}`,
      start: () =>
        startProgram({ name: nodeId, script: programPath("myriarch-depot"), args: ["--config", file], dataDir }),
    });
  }
  return { controlTokenFile, readTokenFile, nodes };
}
