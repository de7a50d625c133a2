/** The workflows of which one installation has exactly one: uniqueness comes from the workflow id, not from an election. */
import type { ServerSettings } from "../../domain/config/server-config.ts";
import { WORKFLOW_IDS } from "../../workflows/messages.ts";

export type Singleton = { type: string; workflowId: string; args: [object]; summary: string };

export const singletons = ({ gitops }: ServerSettings): Singleton[] => [
  { type: "reconcile", workflowId: WORKFLOW_IDS.reconcile, args: [{}], summary: "plans rollouts and catch-up" },
  {
    type: "artifactReplication",
    workflowId: WORKFLOW_IDS.artifactReplication,
    args: [{}],
    summary: "keeps every artifact on every depot",
  },
  {
    type: "artifactRetention",
    workflowId: WORKFLOW_IDS.artifactRetention,
    args: [{}],
    summary: "removes releases that nothing needs any more",
  },
  {
    type: "releaseDiscovery",
    workflowId: WORKFLOW_IDS.releaseDiscovery,
    args: [{}],
    summary: "looks for new releases",
  },
  {
    type: "gitSync",
    workflowId: WORKFLOW_IDS.gitSync,
    args: [{ pollIntervalMs: gitops.pollIntervalMs }],
    summary: `reads the repository every ${gitops.pollIntervalMs / 1000} s`,
  },
];
