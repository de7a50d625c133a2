/** The configuration that a fleet gives to one agent: same inputs, same bytes, on every replica. */
import type { Fleet } from "../gitops/kinds.ts";
import type { Objects } from "../gitops/snapshot.ts";
import type { FleetAgent } from "./agent.ts";

export type RenderCode =
  | "template_error"
  | "invalid_config"
  | "missing_parameter"
  | "unknown_parameter"
  | "invalid_value";
export type Rendered =
  | { ok: true; bytes: Uint8Array; hash: Uint8Array }
  | { ok: false; code: RenderCode; message: string };

/** Renders for `agent` at `version` (without `v`; empty when unknown). Never throws on what a repository can say. */
export declare function renderConfig(
  snapshot: Objects,
  fleet: Fleet,
  agent: FleetAgent,
  version: string,
  hash: (bytes: Uint8Array) => Uint8Array,
): Rendered;
