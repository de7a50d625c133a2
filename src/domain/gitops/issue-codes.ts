/**
 * The one catalogue of what can be wrong with a revision. A code is permanent (CI systems and pages key on it);
 * `todo` says what to do; `myrctl validate` prints it.
 */
type Entry = { severity: "error" | "warning"; todo: string };

export const ISSUE_CODES = {
  invalid_yaml: { severity: "error", todo: "Make the file valid YAML 1.2: one value per key, known tags, plain keys." },
  invalid_api_version: { severity: "error", todo: "Write `apiVersion: myriarch.dev/v1alpha1`, exactly." },
  unknown_kind: { severity: "error", todo: "Use one of Fleet, Blueprint, RolloutPolicy, Executor, Inventory." },
  invalid_name: { severity: "error", todo: "Name it with lower-case letters, digits and -, at most 63 characters." },
  missing_field: { severity: "error", todo: "Add the field; the schema page says what it means." },
  unknown_field: { severity: "error", todo: "Remove the field or correct its spelling." },
  invalid_value: { severity: "error", todo: "Write a value of the stated form." },
  version_not_quoted: { severity: "error", todo: "Put the version in quotes, so that YAML does not read a number." },
  duplicate_object: { severity: "error", todo: "Rename or remove one of the two objects." },
  duplicate_entry: { severity: "error", todo: "Keep one inventory entry for the host." },
  unknown_reference: { severity: "error", todo: "Name an object that exists in this revision." },
  extends_cycle: {
    severity: "error",
    todo: "Break the chain: a blueprint may not extend itself, nor more than 8 deep.",
  },
  unknown_parameter: { severity: "error", todo: "Declare the parameter in the blueprint or remove it." },
  missing_parameter: { severity: "error", todo: "Set the required parameter in the fleet or in the inventory." },
  template_error: { severity: "error", todo: "Correct the template; the message says where Liquid stopped." },
  invalid_selector: { severity: "error", todo: "Correct the selector; `{}` matches every collector." },
  invalid_config: { severity: "error", todo: "Correct the blueprint so that it renders to a usable configuration." },
  not_regular_file: { severity: "error", todo: "Replace the link or special entry by a regular file." },
  file_too_large: { severity: "error", todo: "Split the file: 4 MiB at most." },
  too_many_files: { severity: "error", todo: "Put several objects in one file, or raise gitops.maxFiles." },
  repository_too_large: { severity: "error", todo: "Remove files that are not needed, or raise gitops.maxYamlBytes." },
  alias_bomb: { severity: "error", todo: "Expand fewer aliases: a file may grow to 1,000,000 nodes." },
  time_budget_exceeded: { severity: "error", todo: "Make the file or revision simpler, or raise the time budget." },
  sync_failed: { severity: "error", todo: "Make the repository reachable and complete; the next poll tries again." },
  ambiguous_fleet: { severity: "warning", todo: "Give one of the two fleets a higher priority." },
  no_sample_agent: { severity: "warning", todo: "Add a sample agent that the fleet matches to samples/agents." },
  secret_not_allowed: {
    severity: "warning",
    todo: "Let the server's executors.secrets allow the name, or use another.",
  },
  plaintext_secret: { severity: "warning", todo: "Refer to the secret as ${env:NAME} or ${file:/path}." },
} as const satisfies Record<string, Entry>;

export type IssueCode = keyof typeof ISSUE_CODES;

/** One thing that is wrong, with its place. Lines and columns count from 1. */
export type Issue = {
  code: IssueCode;
  severity: "error" | "warning";
  kind?: string;
  name?: string;
  file: string;
  line: number;
  column: number;
  /** Where in the object: `spec.version.target`; empty when the whole file is meant. */
  path: string;
  message: string;
  hint?: string;
};
