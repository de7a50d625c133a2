/** What Git says, as one value: every object of the revision that was applied last. */
import { type Fleet, type GitObject, type Inventory, type Kind, type ObjectOf, type RolloutPolicy } from "./kinds.ts";
import { rolloutPolicySpec } from "./kinds/rollout-policy.ts";

export type Snapshot = { commit: string; generation: number; author: string; subject: string; objects: GitObject[] };
/** What the decisions on fleets need of a snapshot: a revision that is being validated has no generation yet. */
export type Objects = Pick<Snapshot, "objects">;

export const objectsOf = <K extends Kind>(snapshot: Objects, kind: K): ObjectOf<K>[] =>
  snapshot.objects.filter((object): object is ObjectOf<K> => object.kind === kind);

export const findObject = <K extends Kind>(snapshot: Objects, kind: K, name: string): ObjectOf<K> | undefined =>
  snapshot.objects.find((object): object is ObjectOf<K> => object.kind === kind && object.name === name);

export const fleets = (snapshot: Objects): Fleet[] => objectsOf(snapshot, "Fleet");
export const inventories = (snapshot: Objects): Inventory[] => objectsOf(snapshot, "Inventory");

/** The policy that holds when a fleet names none: one wave, 10% at once, pause at 10% failed. */
export const DEFAULT_POLICY: RolloutPolicy["spec"] = rolloutPolicySpec.parse({});
/** Names that need no object in the repository. */
export const BUILT_IN = { policy: "default", executor: "updater" } as const;

/** The policy of a fleet; a repository may define `default` itself. */
export function policyOf(snapshot: Objects, fleet: Fleet): { name: string; spec: RolloutPolicy["spec"] } {
  const name = fleet.spec.rolloutPolicy ?? BUILT_IN.policy;
  return { name, spec: findObject(snapshot, "RolloutPolicy", name)?.spec ?? DEFAULT_POLICY };
}
