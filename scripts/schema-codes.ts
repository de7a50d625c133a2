/**
 * What docs/schema.md says of each code of an issue: what it means, and a small repository in which it appears. The message
 * on the page is the one that the validator gives for that repository, so that it is never out of date.
 */
import type { IssueCode } from "../src/domain/gitops/issue-codes.ts";
import { DEFAULT_LIMITS, type Limits, type RepositoryFile } from "../src/domain/gitops/repository-files.ts";
import { validateRevision } from "../src/domain/gitops/validate.ts";

/** `shown`: the lines of the file that the page shows. `said`: of what no repository alone can show. */
export type CodeNote = { means: string } & (
  | { file: string; content: string; shown: string; limits?: Partial<Limits>; mode?: string }
  | { said: string }
);

const object = (kind: string, name: string, spec: string): string =>
  `apiVersion: myriarch.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec:\n${indent(spec)}\n`;
const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, "  ");

/** An object whose spec is what the page shows. */
const inSpec = (means: string, kind: string, shown: string): CodeNote => ({
  means,
  file: `${FOLDERS[kind] ?? "more"}/example.yaml`,
  content: object(kind, "example", shown),
  shown: `# spec of ${/^[AEI]/.test(kind) ? "an" : "a"} ${kind}\n${shown}`,
});
const whole = (means: string, content: string, file = "fleets/example.yaml"): CodeNote => ({
  means,
  file,
  content,
  shown: content.trimEnd(),
});
const FOLDERS: Record<string, string> = {
  Fleet: "fleets",
  Blueprint: "blueprints",
  RolloutPolicy: "policies",
  Executor: "executors",
  Inventory: "inventory",
};
const fleet = "selector: {}\npriority: 1\nblueprint: base";

export const CODE_NOTES: Record<IssueCode, CodeNote> = {
  invalid_yaml: whole(
    "The file cannot be read as YAML 1.2: its syntax, a key that is given twice, an unknown tag, a `%YAML 1.1` directive, an alias without anchor, bytes that are not UTF-8, or more than 128 levels of nesting.",
    object("Fleet", "example", `${fleet}\npriority: 2`),
  ),
  invalid_api_version: whole(
    "`apiVersion` is something else than the one version that there is.",
    object("Fleet", "example", fleet).replace("v1alpha1", "v1"),
  ),
  unknown_kind: whole("`kind` is none of the five kinds.", object("Flet", "example", fleet)),
  invalid_name: whole("`metadata.name` is no DNS label.", object("Fleet", "Linux_Hosts", fleet)),
  missing_field: inSpec("A required field is absent or empty.", "Fleet", "blueprint: base"),
  unknown_field: inSpec(
    "A field that the kind does not know. Only the free-form areas take any key.",
    "Fleet",
    "selector: {}\npriority: 1\nblueprnt: base\nblueprint: base",
  ),
  invalid_value: inSpec(
    "A value of the wrong type or form, or one that contradicts another field: a duration without unit, a version with `v`, a window that ends when it starts, a default that does not fit its declaration, an integer beyond 2^53.",
    "RolloutPolicy",
    'healthWait: "90"',
  ),
  version_not_quoted: inSpec(
    "YAML read a version as a number, and `0.160` is then `0.16`.",
    "Fleet",
    `${fleet}\nversion: {target: 0.160}`,
  ),
  duplicate_object: whole(
    "Two objects have the same kind and name, in one file or in two. A blueprint and a fleet may share a name.",
    `${object("Fleet", "example", fleet)}---\n${object("Fleet", "example", fleet)}`,
  ),
  duplicate_entry: inSpec(
    "A host has two entries, in one or in several Inventory objects. Host names compare without case.",
    "Inventory",
    "entries:\n  - host: web-01\n  - host: WEB-01",
  ),
  unknown_reference: inSpec(
    "A field names an object that is not in this revision.",
    "Fleet",
    "selector: {}\npriority: 1\nblueprint: bsae",
  ),
  extends_cycle: inSpec(
    "A blueprint extends itself, directly or through others, or its chain is longer than 8.",
    "Blueprint",
    "extends: example",
  ),
  unknown_parameter: inSpec(
    "A fleet or an inventory entry sets a parameter, or a template reads one, that no blueprint of the chain declares.",
    "Fleet",
    `${fleet}\nparameters: {helthPort: 1}`,
  ),
  missing_parameter: inSpec(
    "A required parameter without default is set neither by the fleet nor by the inventory.",
    "Fleet",
    "selector: {}\npriority: 1\nblueprint: needy",
  ),
  template_error: inSpec(
    "A template does not compile, reads something that does not exist, or fails for a sample agent.",
    "Blueprint",
    'extends: base\nconfig:\n  exporters:\n    debug: {verbosity: "{{ agnet.hostName }}"}',
  ),
  invalid_selector: inSpec(
    "A selector's operator and values do not fit.",
    "Fleet",
    "selector:\n  matchExpressions: [{key: tier, operator: In}]\nblueprint: base",
  ),
  invalid_config: {
    means:
      "A rendered configuration is not usable: no map, no pipeline, a pipeline that is empty or names a component that is not defined, a connector that joins nothing. With `--components` also a component that the collector does not have.",
    file: "blueprints/example.yaml",
    content: `${object("Blueprint", "example", "extends: base\nconfig:\n  service: {pipelines: {metrics: {processors: [batch]}}}")}---\n${object("Fleet", "example", "selector: {}\npriority: 9\nblueprint: example")}`,
    shown: "# spec of a Blueprint\nextends: base\nconfig:\n  service: {pipelines: {metrics: {processors: [batch]}}}",
  },
  not_regular_file: {
    means:
      "The repository holds a symbolic link, a submodule or another special entry at or below the configured path.",
    file: "fleets/example.yaml",
    content: "all.yaml",
    shown: "ln -s all.yaml fleets/example.yaml",
    mode: "120000",
  },
  file_too_large: {
    means: "A YAML file is larger than 4 MiB.",
    file: "fleets/example.yaml",
    content: `${object("Fleet", "example", fleet)}# ${"x".repeat(4 * 1024 * 1024)}\n`,
    shown: "# a file of more than 4 MiB",
  },
  too_many_files: {
    means: "There are more YAML files than `gitops.maxFiles` (2000). Nothing of the revision is read.",
    file: "fleets/example.yaml",
    content: object("Fleet", "example", fleet),
    shown: "# one file more than gitops.maxFiles, here 3",
    limits: { maxFiles: 3 },
  },
  repository_too_large: {
    means: "All YAML files together are larger than `gitops.maxYamlBytes` (64 MiB). Nothing of the revision is read.",
    file: "fleets/example.yaml",
    content: object("Fleet", "example", fleet),
    shown: "# one byte more than gitops.maxYamlBytes, here 500",
    limits: { maxYamlBytes: 500 },
  },
  alias_bomb: {
    means: "Aliases and merge keys of a file expand to more than 1,000,000 nodes.",
    file: "blueprints/example.yaml",
    content: object("Blueprint", "example", `config:\n${indent(laughs())}`),
    shown:
      "config:\n  l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n  l1: &l1 [*l0, *l0, *l0, *l0, *l0, *l0, *l0, *l0, *l0, *l0]\n  # … and so on to l6",
  },
  time_budget_exceeded: {
    means:
      "Parsing took more than 10 s for one file, or parsing and validating more than `gitops.validationTimeout` (180 s) for the revision, or more memory than a validation may use.",
    said: "error time_budget_exceeded at the file that was being read",
  },
  sync_failed: {
    means:
      "The repository could not be fetched or read: unreachable, refused, a branch or path that does not exist, a missing object, no YAML file at all. Only the server says this; the snapshot in force stays.",
    said: "the state of the sync is error, and the issue says what Git answered",
  },
  ambiguous_fleet: inSpec(
    "Two fleets of the same priority match one sample agent. The name that sorts first gets it.",
    "Fleet",
    "selector: {}\nblueprint: base",
  ),
  no_sample_agent: inSpec(
    "No sample agent matches the fleet, so nobody has seen its configuration rendered.",
    "Fleet",
    "selector: {matchLabels: {tier: edge}}\nblueprint: base",
  ),
  secret_not_allowed: inSpec(
    "The server's `executors.secrets` does not let the executor use the secret that it names, or not at this URL. The revision applies; the executor cannot be used and its rollouts wait. `myrctl validate` does not know the server's configuration and never says this.",
    "Executor",
    "type: webhook\nwebhook: {url: https://deploy.example.com/, secretEnv: HOOK_SECRET}",
  ),
  plaintext_secret: inSpec(
    "A key such as `password` or `token` has a value that is neither a reference nor a template.",
    "Blueprint",
    "extends: base\nconfig:\n  exporters:\n    debug: {password: hunter2}",
  ),
};

function laughs(): string {
  const lists = Array.from(
    { length: 6 },
    (_, k) => `l${k + 1}: &l${k + 1} [${Array.from({ length: 10 }, () => `*l${k}`).join(", ")}]`,
  );
  return ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]", ...lists].join("\n");
}

const CONFIG = `receivers: {otlp: {}}
exporters: {debug: {}}
service: {pipelines: {metrics: {receivers: [otlp], exporters: [debug]}}}`;
/** What stands around each example. */
const AROUND: [string, string][] = [
  ["blueprints/base.yaml", object("Blueprint", "base", `config:\n${indent(CONFIG)}`)],
  [
    "blueprints/needy.yaml",
    object("Blueprint", "needy", "extends: base\nparameters: {endpoint: {type: string, required: true}}"),
  ],
  ["fleets/all.yaml", object("Fleet", "all", "selector: {}\nblueprint: base")],
  ["samples/agents/one.yaml", "name: web-01\nattributes: {host.name: web-01, os.type: linux}\n"],
];

/** The issue that the note's repository has, as `myrctl validate` prints its first line. Throws when there is none. */
export function saidOf(code: IssueCode): string {
  const note = CODE_NOTES[code];
  if ("said" in note) return note.said;
  const around = AROUND.filter(([path]) => path !== "blueprints/needy.yaml" || code === "missing_parameter");
  const files = [...around, [note.file, note.content] as const].map(([path, text]): RepositoryFile => {
    const bytes = new TextEncoder().encode(text);
    const mode = path === note.file ? (note.mode ?? "100644") : "100644";
    return { path, mode, size: bytes.length, bytes };
  });
  const { issues } = validateRevision(files, { ...DEFAULT_LIMITS, ...note.limits }, { secrets: [] });
  const issue = issues.find((it) => it.code === code);
  if (issue === undefined) throw new Error(`the example of ${code} does not have it: ${JSON.stringify(issues)}`);
  const { file, line, column, severity, path, message, hint } = issue;
  const place = file === "" ? "" : `${file}:${line}:${column}: `;
  return `${place}${severity} ${code}: ${path === "" ? "" : `${path}: `}${message}${hint === undefined ? "" : ` (${hint})`}`;
}
