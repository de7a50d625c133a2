/** What the database says of an agent, column by column. */
import type { Pool } from "../../src/store/database.ts";
import { eventually } from "./opamp.ts";

export type AgentRow = Record<string, unknown>;

export const agentRow = async (pool: Pool, uid: string): Promise<AgentRow | undefined> =>
  (await pool.query<AgentRow>("select * from agents where uid = $1", [uid])).rows[0];

/** Resolves with the agent's row once it fits. */
export const agentRowWhere = (
  pool: Pool,
  uid: string,
  what: string,
  fits: (row: AgentRow) => boolean,
): Promise<AgentRow> =>
  eventually(what, async () => {
    const row = await agentRow(pool, uid);
    return row !== undefined && fits(row) && row;
  });
