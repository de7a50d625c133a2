/** Every workflow that a worker runs. */
export { artifactFetch } from "./artifact-fetch.ts";
export { artifactReplication, replicationExecution } from "./artifact-replication.ts";
export { artifactRetention } from "./artifact-retention.ts";
export { catchUp } from "./catch-up.ts";
export { gitSync } from "./git-sync.ts";
export { reconcile } from "./reconcile.ts";
export { releaseDiscovery } from "./release-discovery.ts";
export { rollout } from "./rollout.ts";
export { wave } from "./wave.ts";
