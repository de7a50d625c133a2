/**
 * A depot gave wrong bytes to a download: it compares its copies now, puts wrong ones aside, and replication mends them,
 * instead of at the next scrub. What it found is in the history then.
 */
import type { DepotClient } from "../depot/client.ts";
import { transaction, type Pool } from "../store/database.ts";
import { depotById } from "../store/depots.ts";
import { noteFindings } from "../store/replication-history.ts";
import type { SourceFault } from "./stream-artifact.ts";

type Deps = {
  pool: Pool;
  depotClient: (address: NonNullable<Awaited<ReturnType<typeof depotById>>>) => DepotClient;
  wakeReplication: (cause: string) => Promise<unknown>;
  log: { error(fields: object, message: string): void };
};

/** Never fails: what goes wrong is logged, and the depot's own scrub finds the copy later. */
export const createWrongCopyReport =
  ({ pool, depotClient, wakeReplication, log }: Deps) =>
  async (fault: SourceFault): Promise<void> => {
    const { node, sha256 } = fault;
    log.error(fault, "a source gave wrong bytes; no host got them, another source goes on");
    try {
      const depot = await depotById(pool, node);
      if (depot === undefined) return; // the staging of this host
      const client = depotClient(depot);
      await client.suspect(sha256);
      const { findings } = await client.status();
      if (findings !== undefined) await transaction(pool, (tx) => noteFindings(tx, node, findings));
      await wakeReplication(`${node} gave wrong bytes of ${sha256.slice(0, 12)}`);
    } catch (err) {
      log.error({ err, node, sha256 }, "a depot could not be asked to compare its copies");
    }
  };
