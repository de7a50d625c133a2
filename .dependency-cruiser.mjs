/**
 * The arrows of docs/arrows.md: an import goes down its own column or along an arrow. Each rule's comment says why,
 * and what to do instead.
 */
const only = (name, from, allowed, comment) => ({
  name,
  comment,
  severity: "error",
  from: { path: `^src/${from}/`, pathNot: "\\.test\\.ts$" },
  to: { path: "^src/", pathNot: `^src/(${[from, ...allowed].join("|")})(/|\\.)` },
});

export default {
  forbidden: [
    { name: "no-cycles", severity: "error", comment: "A cycle has no top to read from.", from: {}, to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } } },
    only("domain-decides", "domain", [], "Decisions are pure: they load no other storey."),
    {
      name: "domain-has-no-effects",
      severity: "error",
      comment: "Domain takes clock, chance and data as arguments; only zod, yaml, liquidjs, semver, luxon, re2js and pure crypto are allowed.",
      from: { path: "^src/domain/", pathNot: "\\.test\\.ts$" },
      to: { dependencyTypesNot: ["local", "type-only"], pathNot: "(^|node_modules/)(zod|yaml|liquidjs|semver|luxon|re2js|@noble)(/|$)|^src/" },
    },
    only("protocol-is-shared", "protocol", ["domain"], "Server and host both load the protocol; it may load neither."),
    only("verify-is-shared", "verify", ["domain"], "Server and host both verify with it; it may load neither."),
    only("store-is-one-thing", "store", ["domain"], "The database knows rows, not processes."),
    {
      name: "workflows-are-sandboxed",
      severity: "error",
      comment: "The workflow sandbox has no Node: by value only domain and @temporalio/workflow; everything else by `import type`.",
      from: { path: "^src/workflows/" },
      to: { path: "^src/(?!workflows/|domain/)", dependencyTypesNot: ["type-only"] },
    },
    only("updater-column", "updater", ["domain", "protocol", "verify"], "The host program loads verify, protocol and domain only."),
    only("depot-column", "depot", ["domain", "verify"], "A depot node knows nothing of the server."),
    only("activities-column", "activities", ["domain", "store", "verify", "depot/client", "workflows/messages"], "Activities are the only effects of workflows; they never load the API."),
    only("api-column", "api", ["domain", "store", "protocol", "verify", "depot/client", "workflows/messages"], "The API meets the worker in Temporal messages and Postgres rows only."),
    only("cli-column", "cli", ["domain", "verify", "activities/git-[a-z-]+"], "myrctl talks to the server through the API; it shares the validator and the reader of Git remotes."),
    {
      name: "tools-stay-tools",
      severity: "error",
      comment: "sim, signing and embedded are loaded by bin, tests, scripts and bench only.",
      from: { path: "^src/(?!bin/|sim/|signing/|embedded/)", pathNot: "\\.test\\.ts$" },
      to: { path: "^src/(sim|signing|embedded)/" },
    },
    { name: "bin-is-a-root", severity: "error", comment: "Composition roots are loaded by nobody.", from: { path: "^src/(?!bin/)" }, to: { path: "^src/bin/" } },
  ],
  options: {
    parser: "swc",
    doNotFollow: { path: "node_modules" },
    exclude: { path: "src/protocol/generated/" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
};
