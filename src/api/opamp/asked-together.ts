/**
 * Questions to the database that many ask at once: those that come while one query runs are one query together, and an
 * answer counts for a moment. So a storm of connections, or of forged tokens, is a handful of queries.
 */
export type AskedTogether<V> = {
  /** The answer for this key, undefined when there is none. Rejects when the database does not answer. */
  ask(key: string): Promise<V | undefined>;
  /** Answers from before count no more. */
  forget(): void;
};
type Options<V> = {
  query: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>;
  /** How long an answer counts. */
  keepMs: number;
  /** Monotonic milliseconds. */
  nowMs: () => number;
};

/** Keys come from outside: what is remembered is bounded. */
const MAX_ENTRIES = 10_000;
const MAX_KEYS = 1_000;

export function createAskedTogether<V>({ query, keepMs, nowMs }: Options<V>): AskedTogether<V> {
  let known = new Map<string, { until: number; answer: V | undefined }>();
  const waiting = new Map<string, PromiseWithResolvers<V | undefined>>();
  let working = false;

  const work = async (): Promise<void> => {
    working = true;
    while (waiting.size > 0) {
      const batch = Array.from(waiting).slice(0, MAX_KEYS);
      for (const [key] of batch) waiting.delete(key);
      const into = known;
      try {
        const found = await query(batch.map(([key]) => key));
        if (into.size >= MAX_ENTRIES) into.clear();
        for (const [key, { resolve }] of batch) {
          const answer = found.get(key);
          // Into the map of then: what was forgotten meanwhile stays forgotten.
          into.set(key, { until: nowMs() + keepMs, answer });
          resolve(answer);
        }
      } catch (error) {
        for (const [, { reject }] of batch) reject(error);
      }
    }
    working = false;
  };
  return {
    async ask(key) {
      const cached = known.get(key);
      if (cached !== undefined && cached.until > nowMs()) return cached.answer;
      const asked = waiting.get(key) ?? Promise.withResolvers<V | undefined>();
      waiting.set(key, asked);
      if (!working) void work();
      return asked.promise;
    },
    forget() {
      known = new Map();
    },
  };
}
