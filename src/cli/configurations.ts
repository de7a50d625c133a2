/** What fleets give to sample agents: the bytes that the server would send, without a server. Pure. */
import { createHash } from "node:crypto";
import { assignAgents, identifier } from "../domain/fleet/assign.ts";
import { desiredVersion } from "../domain/fleet/desired-version.ts";
import { renderConfig } from "../domain/fleet/render.ts";
import { matches } from "../domain/fleet/selector.ts";
import type { Fleet, GitObject } from "../domain/gitops/kinds.ts";
import type { Sample } from "../domain/gitops/read-sample.ts";

export type Configuration = {
  fleet: string;
  sample: string;
  host: string;
  /** The version that templates saw, without `v`; empty when neither fleet nor sample says one. */
  version: string;
  /** Hex, as the server's pages show it. */
  sha256: string;
  text: string;
  /** The fleet that gets this agent, when another one matches with a higher claim. */
  belongsTo?: string;
};
/** One sample that did not render. A revision that is valid has none for its own samples. */
export type Unrendered = { fleet: string; sample: string; message: string };
export type Rendering = { configurations: Configuration[]; unrendered: Unrendered[] };

/** The configurations that `fleet` gives to the samples that its selector matches, in their order. */
export function renderFleet(
  objects: readonly GitObject[],
  fleet: Fleet,
  samples: readonly Sample[],
  version?: string,
): Rendering {
  const snapshot = { objects: [...objects] };
  const rendering: Rendering = { configurations: [], unrendered: [] };
  for (const { name, agent } of samples) {
    // each sample stands for itself: two of one host name are no conflict
    const identity = identifier(snapshot, [agent])(agent);
    if (!matches(fleet.spec.selector, identity.labels)) continue;
    const used = version ?? desiredVersion(fleet)?.version ?? agent.version;
    const rendered = renderConfig(snapshot, fleet, agent, used, sha256, identity);
    const which = { fleet: fleet.name, sample: name };
    if (!rendered.ok) {
      rendering.unrendered.push({ ...which, message: rendered.message });
      continue;
    }
    const owner = assignAgents(snapshot, [agent]).get(agent.uid)?.fleet ?? undefined;
    rendering.configurations.push({
      ...which,
      host: agent.hostName,
      version: used,
      sha256: Buffer.from(rendered.hash).toString("hex"),
      text: new TextDecoder().decode(rendered.bytes),
      ...(owner !== undefined && owner !== fleet.name && { belongsTo: owner }),
    });
  }
  return rendering;
}

const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();
