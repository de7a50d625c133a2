/**
 * Whatever the host program changes goes through one function, effect by effect: primitive calls of the file system,
 * signals and programs started, stop and start of the service. The program itself simply performs them; tests number them
 * and let the process die, or the call fail, at any one (`fault-points.ts`).
 */
export const EFFECTS = [
  "create",
  "chmod",
  "write",
  "truncate",
  "sync",
  "rename",
  "symlink",
  "unlink",
  "mkdir",
  "rmdir",
  "sync folder",
  "signal",
  "spawn",
  "stop",
  "start",
] as const;
export type EffectKind = (typeof EFFECTS)[number];

/**
 * Performs one effect on `target` (a path, or what is signalled) and answers what `work` answers. `half` does a part of it
 * that a death in the middle could leave behind.
 */
export type Perform = <T>(
  kind: EffectKind,
  target: string,
  work: () => Promise<T>,
  half?: () => Promise<unknown>,
) => Promise<T>;

export const performDirectly: Perform = async (_kind, _target, work) => await work();
