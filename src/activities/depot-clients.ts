/** Clients of depots, one per address, kept while the process lives. */
import { createDepotClient, type DepotClient, type DepotTokens } from "../depot/client.ts";

export type DepotClients = {
  of(depot: { controlUrl: string; readUrl: string }): DepotClient;
  close(): Promise<void>;
};

export function createDepotClients(tokens: DepotTokens, idleTimeoutMs?: number): DepotClients {
  const clients = new Map<string, DepotClient>();
  return {
    of: ({ controlUrl, readUrl }) => {
      const key = `${controlUrl} ${readUrl}`;
      const known = clients.get(key);
      if (known !== undefined) return known;
      const options = { tokens, ...(idleTimeoutMs !== undefined && { idleTimeoutMs }) };
      const client = createDepotClient({ controlUrl, readUrl }, options);
      clients.set(key, client);
      return client;
    },
    close: async () => {
      await Promise.all(Array.from(clients.values(), (client) => client.close()));
      clients.clear();
    },
  };
}
