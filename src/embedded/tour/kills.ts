/** `kill -9` in the middle of the tour, and the starts after it. */
import { openPool } from "../../store/database.ts";
import { findProcesses, signalProcess } from "../processes.ts";
import { collectorsOf } from "./host-facts.ts";
import type { Tour } from "./parts.ts";

export async function killDepot({ stage, facts }: Tour, name: string): Promise<void> {
  await facts.until("the fetch of 0.161.0 has begun", async () => {
    const pool = openPool(stage.services.databaseUrl, () => undefined, 1);
    try {
      return ((await pool.query("select 1 from artifacts")).rowCount ?? 0) > 0;
    } finally {
      await pool.end();
    }
  });
  const depot = stage.programs.get(name);
  depot?.signal("SIGKILL");
  await depot?.exited;
}

export async function restartDepot({ stage, facts, api }: Tour, name: string): Promise<void> {
  const node = stage.depots.nodes.find(({ nodeId }) => nodeId === name);
  if (node === undefined) throw new Error(`no depot ${name}`);
  stage.programs.set(name, await node.start());
  await facts.until(`${name} is back and has a copy of every artifact`, async () => {
    const artifacts = (await api.get<{ items: { state: string; copies: { node: string }[] }[] }>("/api/v1/artifacts"))
      .items;
    return artifacts.length > 0 && artifacts.every(({ copies }) => copies.length === stage.depots.nodes.length);
  });
}

/** `kill -9` of the parent, the API and the worker, parent first so that it starts none of them again. */
export async function killServer({ stage, facts }: Tour): Promise<void> {
  const parent = stage.programs.get("myriarchd");
  if (parent === undefined) throw new Error("myriarchd is not running");
  const ours = findProcesses((args) => args.includes(stage.server.configFile) && args.includes("--roles"));
  parent.signal("SIGKILL");
  for (const { pid } of ours) signalProcess(pid, "SIGKILL");
  await parent.exited;
  await facts.until(
    "kill -9 of myriarchd, its API and its worker",
    async () => findProcesses((args) => args.includes(stage.server.configFile)).length === 0,
  );
  await facts.check("the hosts run on meanwhile", () =>
    stage.hosts.every((host) => collectorsOf(host) === 1) ? "" : "a collector is gone",
  );
}
