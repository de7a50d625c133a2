/** Which collector version Git wants of a fleet. A choice made by a person inside the Git frame comes on top of it. */
import type { Fleet } from "../gitops/kinds.ts";

export type DesiredVersion = { distribution: string; version: string; allowDowngrade: boolean };

/** `target`, or the `default` of `choice`; undefined when the fleet manages configuration only. */
export function desiredVersion(fleet: Fleet): DesiredVersion | undefined {
  const wanted = fleet.spec.version;
  const version = wanted?.target ?? wanted?.choice?.default;
  if (wanted === undefined || version === undefined) return undefined;
  return { distribution: wanted.distribution, version, allowDowngrade: wanted.allowDowngrade };
}
