/**
 * May this configuration replace the one that a node holds? (contract, "Sled Agent implementation";
 * design/artifacts, "Depots"; depot-anchors, invariants 3, 4, 9, 16, 17.)
 *
 * - The same again changes nothing. Another set needs a higher generation; a lower one is refused.
 * - A configuration of another installation is refused, never compared by number.
 * - An unreadable configuration is an error state, never "no configuration": the node then takes one of its own epoch,
 *   and deletes nothing before the next higher generation. So does a node that has files and no configuration.
 * - Only a node without any file may get its first configuration without knowing its epoch.
 */
import type { DetailOf } from "../errors.ts";

export type Held =
  /** Read; `digest` identifies its set. `keepUpTo` is set while a newer one may have been lost with a disk. */
  | { kind: "known"; epoch: string; generation: number; digest: string; keepUpTo?: number | undefined }
  /** No disk has one. `epoch` is what the node remembers of its installation. */
  | { kind: "none"; epoch?: string | undefined; hasFiles: boolean }
  /** There is one, but none that can be read (or two of different installations: then there is no epoch). */
  | { kind: "unreadable"; path: string; epoch?: string | undefined };

export type Next = {
  epoch: string;
  generation: number;
  digest: string;
  /** Identifies the list of held artifacts, where there is one. */
  heldDigest?: string | undefined;
};

export type Judgement =
  | { do: "keep" }
  /** Nothing is deleted while the generation is not above `keepUpTo`. */
  | { do: "accept"; keepUpTo?: number }
  | { do: "refuse"; code: "depot_generation"; detail: DetailOf<"depot_generation"> }
  | { do: "refuse"; code: "depot_epoch"; detail: DetailOf<"depot_epoch"> }
  | { do: "refuse"; code: "depot_config_unreadable"; detail: DetailOf<"depot_config_unreadable"> };

export function judgeConfig(held: Held, next: Next): Judgement {
  if (held.epoch !== undefined && held.epoch !== next.epoch)
    return { do: "refuse", code: "depot_epoch", detail: { sent: next.epoch, current: held.epoch } };
  if (held.kind === "known") return judgeAgainstKnown(held, next);
  if (held.kind === "none" && !held.hasFiles) return { do: "accept" };
  if (held.epoch !== undefined) return { do: "accept", keepUpTo: next.generation };
  const path = held.kind === "unreadable" ? held.path : "(none, but there are files)";
  return { do: "refuse", code: "depot_config_unreadable", detail: { path } };
}

function judgeAgainstKnown(held: Held & { kind: "known" }, next: Next): Judgement {
  if (next.generation < held.generation) return stale(next.generation, held.generation);
  if (next.generation === held.generation)
    return next.digest === held.digest ? { do: "keep" } : stale(next.generation, held.generation);
  const stillKept = held.keepUpTo !== undefined && next.generation <= held.keepUpTo;
  return stillKept ? { do: "accept", keepUpTo: held.keepUpTo as number } : { do: "accept" };
}

const stale = (sent: number, current: number): Judgement => ({
  do: "refuse",
  code: "depot_generation",
  detail: { sent, current },
});
