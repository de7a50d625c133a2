/**
 * Artifacts that must not go: pinned, or in use somewhere (depot-anchors, invariant 15). The control plane marks them as
 * held in the configuration that it sends; a node remembers the marks beside its configuration, so that they outlive the
 * loss of it. Whoever wants to drop a held artifact says so on purpose: either a configuration of an earlier generation
 * still names it and does not hold it any more, or the one that drops it lists it in `released`.
 */
export type Holds = {
  /** Generation that said so last. */
  generation: number;
  /** Digests, sorted. Whatever configuration is in force names all of them. */
  held: readonly string[];
};
export const NO_HOLDS: Holds = { generation: 0, held: [] };

/** What a configuration says about holds. `held` absent: nothing, what is held stays held. */
export type Said = {
  generation: number;
  artifacts: ReadonlySet<string>;
  held?: readonly string[] | undefined;
  released?: readonly string[] | undefined;
};

/** Held digests that this configuration would drop without saying so: a reason to refuse it. */
export function droppedHolds({ held }: Holds, { artifacts, released = [] }: Said): string[] {
  const letGo = new Set(released);
  return held.filter((sha256) => !artifacts.has(sha256) && !letGo.has(sha256));
}

/**
 * What is held once the configuration is in force. Within one generation holds are only added: of two controllers with
 * different knowledge, the one that knows fewer users takes nothing away.
 */
export function holdsAfter(now: Holds, said: Said): Holds {
  const keeps = said.held === undefined || said.generation === now.generation;
  const all = new Set([...(said.held ?? []), ...(keeps ? now.held : [])]);
  return { generation: said.generation, held: [...all].filter((sha256) => said.artifacts.has(sha256)).sort() };
}

/** What several disks remember: the newest, and all of it that is equally new. */
export function newestHolds(found: readonly Holds[]): Holds {
  const generation = Math.max(0, ...found.map((holds) => holds.generation));
  const newest = found.filter((holds) => holds.generation === generation);
  return { generation, held: [...new Set(newest.flatMap((holds) => holds.held))].sort() };
}
