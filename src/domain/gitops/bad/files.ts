/** Faults of the files themselves, of sample agents, and several faults at once. */
import { fleet, object, policy, type BadCase } from "./repository.ts";

const spare = Object.fromEntries(Array.from({ length: 5 }, (_, k) => [`fleets/${k}.yaml`, "# nothing\n"]));

export const FILES: BadCase[] = [
  {
    what: "links and submodules, wherever they are",
    codes: ["not_regular_file"],
    files: {
      "fleets/link.yaml": "../x.yaml",
      ".github/link": "x",
      "samples/agents/link.yaml": "x",
      "vendor/module": "",
      "docs/socket": "",
    },
    modes: {
      "fleets/link.yaml": "120000",
      ".github/link": "120000",
      "samples/agents/link.yaml": "120000",
      "vendor/module": "160000",
      "docs/socket": "other",
    },
  },
  {
    what: "a file that is too large",
    codes: ["file_too_large"],
    files: { "fleets/x.yaml": `# ${"x".repeat(5_000)}\n` },
    limits: { maxFileBytes: 4_096 },
  },
  { what: "too many files", codes: ["too_many_files"], files: spare, limits: { maxFiles: 7 } },
  { what: "too many bytes", codes: ["repository_too_large"], files: spare, limits: { maxYamlBytes: 600 } },
  {
    what: "a path below gitops.path",
    codes: ["invalid_yaml"],
    files: { "fleets/x.yaml": "a: [\n" },
    limits: { base: "deploy/otel" },
  },
];

const sample = (text: string) => ({ "samples/agents/x.yaml": text });

export const SAMPLES: BadCase[] = [
  { what: "misspelt fields", codes: ["unknown_field"], files: sample("name: x\nattribute: {}\ntokenlabels: {}\n") },
  { what: "no name", codes: ["missing_field"], files: sample("attributes: {os.type: linux}\n") },
  {
    what: "values that are none",
    codes: ["invalid_value", "missing_field"],
    files: sample("name: 7\nattributes: {os.type: [linux], host.name: }\ntokenLabels: {rack: 7}\n"),
  },
  { what: "a sample that is a list", codes: ["invalid_value"], files: sample("- name: x\n") },
  { what: "a sample that is not YAML", codes: ["invalid_yaml"], files: sample("name: [\n") },
  {
    what: "an object instead of a sample",
    codes: ["unknown_field"],
    files: sample(object("Fleet", "x", "selector: {}\nblueprint: base\n")),
  },
];

export const TOGETHER: BadCase[] = [
  {
    what: "one fault of each kind gives all of them at once, in the order of files and lines",
    codes: [
      "invalid_yaml",
      "unknown_field",
      "unknown_reference",
      "version_not_quoted",
      "missing_field",
      "invalid_name",
      "duplicate_object",
      "template_error",
      "invalid_value",
      "duplicate_entry",
      "unknown_parameter",
      "plaintext_secret",
      "no_sample_agent",
    ],
    files: {
      ...fleet("selector: {}\npriorty: 1\nblueprint: base\nversion: {target: 0.162}\n"),
      ...policy("healthWait: 2 minutes\n"),
      "fleets/a.yaml": object("Fleet", "all", "selector: {}\nblueprint: base\n"),
      "fleets/b.yaml": object("Fleet", "b", "selector: {matchLabels: {a: b}}\nblueprint: bsae\nparameters: {x: 1}\n"),
      "fleets/c.yaml": object(
        "Fleet",
        "c",
        "selector: {matchLabels: {a: b}}\npriority: 3\nblueprint: base\nparameters: {x: 1}\n",
      ),
      "fleets/d.yaml": object("Fleet", "D", "selector: {}\n"),
      "fleets/e.yaml": "a: [\n",
      "blueprints/b.yaml": object(
        "Blueprint",
        "b",
        'extends: base\nconfig:\n  a: "{{ oops }}"\n  b: 9007199254740993\n  password: x\n',
      ),
      "blueprints/c.yaml": object("Blueprint", "c", 'extends: base\nconfig:\n  a: "{{ oops }}"\n  password: x\n'),
      "inventory/a.yaml": object("Inventory", "a", "entries: [{host: a}, {host: A}]\n"),
    },
  },
  {
    what: "what refers to a broken object is not blamed for it",
    codes: ["missing_field", "invalid_value", "unknown_field", "invalid_yaml"],
    files: {
      "blueprints/b.yaml": object("Blueprint", "b", "extends: base\nconfg: {}\n"),
      "blueprints/c.yaml": object("Blueprint", "c", "extends: b\n"),
      ...policy("healthWait: x\n"),
      "executors/e.yaml": `${object("Executor", "e", "type: updater\n")}---\na: {b: 1, b: 2}\n`,
      ...fleet("selector: {}\nblueprint: c\nrolloutPolicy: x\nupdate: {executor: e}\n"),
    },
  },
];
