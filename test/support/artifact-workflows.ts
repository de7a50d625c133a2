/** What the worker of artifact tests runs. */
export { artifactFetch } from "../../src/workflows/artifact-fetch.ts";
export { artifactReplication, replicationExecution } from "../../src/workflows/artifact-replication.ts";
export { artifactRetention } from "../../src/workflows/artifact-retention.ts";
