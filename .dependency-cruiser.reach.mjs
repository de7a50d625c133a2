/**
 * What may not be reached, however many files lie between. Imports by type vanish before the code runs, so they are
 * not followed here; the arrows themselves (.dependency-cruiser.mjs) count them.
 */
import arrows from "./.dependency-cruiser.mjs";

export default {
  forbidden: [
    {
      name: "workflow-bundle-stays-small",
      severity: "error",
      comment: "zod, yaml, liquidjs and luxon do not belong into the workflow bundle: import kinds by type.",
      from: { path: "^src/workflows/" },
      to: { path: "node_modules/(zod|yaml|liquidjs|luxon)/", reachable: true },
    },
    {
      name: "updater-stays-small",
      severity: "error",
      comment: "What lies on hosts stays small and auditable: no Temporal, fastify or pg, not even transitively.",
      from: { path: "^src/updater/" },
      to: { path: "node_modules/(@temporalio|fastify|pg)/", reachable: true },
    },
  ],
  options: { ...arrows.options, doNotFollow: { path: "node_modules", dependencyTypes: ["type-only"] } },
};
