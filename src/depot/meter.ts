/** What went through a node since it started. */
import { TRANSFER_CLASSES } from "../domain/depot/token-bucket.ts";

/** `controller`: put by the control plane; `depot`: copied from another node; the others are whom it was sent to. */
export const FLOWS = [
  { dir: "in", peer: "controller" },
  { dir: "in", peer: "depot" },
  ...TRANSFER_CLASSES.map((peer) => ({ dir: "out", peer }) as const),
] as const;
export type Flow = (typeof FLOWS)[number];

export type Meter = {
  add(dir: Flow["dir"], peer: Flow["peer"], bytes: number): void;
  bytes(flow: Flow): number;
};

/** `onBytes` hears of all of them: what else uses the disks gives way. */
export function createMeter(onBytes: (bytes: number) => void = () => undefined): Meter {
  const sums = new Map<string, number>();
  return {
    add: (dir, peer, bytes) => {
      sums.set(`${dir} ${peer}`, (sums.get(`${dir} ${peer}`) ?? 0) + bytes);
      onBytes(bytes);
    },
    bytes: ({ dir, peer }) => sums.get(`${dir} ${peer}`) ?? 0,
  };
}
