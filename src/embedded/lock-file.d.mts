export type LockOwner = { pid: number; started?: string; what: string };
export type HeldLock = { held: true; release: () => void };
export function processStart(pid: number): string | undefined;
export function tryLock(file: string, what: string): HeldLock | { held: false; owner: LockOwner };
export function lock(file: string, what: string, waiting?: (owner: LockOwner) => void): Promise<HeldLock>;
