/**
 * Two locks make "re-check and change" one critical section (design/artifacts, "Depots"; invariants 7, 8, 13):
 * a gate that whoever changes files passes together and whoever changes the configuration passes alone, and one mutex
 * per digest between writers, readers that quarantine, and the reconciler.
 */
type Release = () => void;

/** One holder at a time per key, in order of arrival. */
export function createHashLocks(): { hold<T>(key: string, work: () => Promise<T>): Promise<T> } {
  const tails = new Map<string, Promise<void>>();
  return {
    hold: async (key, work) => {
      const before = tails.get(key) ?? Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const tail = before.then(() => promise);
      tails.set(key, tail);
      await before;
      try {
        return await work();
      } finally {
        resolve();
        if (tails.get(key) === tail) tails.delete(key);
      }
    },
  };
}

/** Many share, or one is alone. Who waits to be alone holds newcomers back, so that it is not starved. */
export function createGate(): {
  share<T>(work: () => Promise<T>): Promise<T>;
  alone<T>(work: () => Promise<T>): Promise<T>;
} {
  let sharing = 0;
  let closed = false;
  const queue: { alone: boolean; enter: Release }[] = [];
  const admit = (): void => {
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      if (closed || (next.alone && sharing > 0)) return;
      queue.shift();
      if (next.alone) closed = true;
      else sharing++;
      next.enter();
    }
  };
  const enter = async (alone: boolean): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    queue.push({ alone, enter: resolve });
    admit();
    await promise;
  };
  const leave = (alone: boolean): void => {
    if (alone) closed = false;
    else sharing--;
    admit();
  };
  const through =
    (alone: boolean) =>
    async <T>(work: () => Promise<T>): Promise<T> => {
      await enter(alone);
      try {
        return await work();
      } finally {
        leave(alone);
      }
    };
  return { share: through(false), alone: through(true) };
}
