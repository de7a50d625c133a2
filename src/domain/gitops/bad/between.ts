/** Faults that show only when objects, templates and sample agents are looked at together. */
import { block, fleet, inventory, object, rendered, type BadCase } from "./repository.ts";

const exporter = (value: string) =>
  rendered(`extends: base\nconfig:\n  exporters:\n    debug:\n      note: ${value}\n`);
const base = (name: string, parent: string) => object("Blueprint", name, `extends: ${parent}\n`);
const chain = Array.from({ length: 9 }, (_, k) => base(`link-${k}`, k === 8 ? "base" : `link-${k + 1}`)).join("---\n");

export const REFERENCES: BadCase[] = [
  {
    what: "an object twice, in two files",
    codes: ["duplicate_object"],
    files: { "fleets/b.yaml": object("Fleet", "all", "selector: {}\nblueprint: base\n") },
  },
  {
    what: "an object three times in one file",
    codes: ["duplicate_object"],
    files: {
      "fleets/b.yaml": Array(3)
        .fill(object("Fleet", "b", "selector: {}\npriority: 1\nblueprint: base\n"))
        .join("---\n"),
    },
  },
  {
    what: "names that nobody has",
    codes: ["unknown_reference"],
    files: fleet("selector: {}\nblueprint: bse\nrolloutPolicy: slow\nupdate: {executor: tower}\n"),
  },
  { what: "a parent that nobody is", codes: ["unknown_reference"], files: rendered("extends: bas\n") },
  { what: "a blueprint that extends itself", codes: ["extends_cycle"], files: rendered("extends: x\n") },
  {
    what: "three blueprints that extend each other",
    codes: ["extends_cycle"],
    files: { "blueprints/c.yaml": [base("a", "b"), base("b", "c"), base("c", "a"), base("d", "a")].join("---\n") },
  },
  { what: "a chain of ten", codes: ["extends_cycle"], files: { "blueprints/c.yaml": chain } },
  {
    what: "a host in two entries",
    codes: ["duplicate_entry"],
    files: {
      ...inventory("entries:\n  - host: WEB-01\n  - host: web-02\n  - host: web-01\n"),
      "inventory/y.yaml": object("Inventory", "y", "entries: [{host: Web-02}]\n"),
    },
  },
  {
    what: "two fleets of one priority",
    codes: ["ambiguous_fleet"],
    files: {
      ...fleet("selector: {}\npriority: 5\nblueprint: base\n"),
      "fleets/w.yaml": object(
        "Fleet",
        "w",
        "selector: {matchLabels: {os.type: linux}}\npriority: 5\nblueprint: base\n",
      ),
    },
  },
  {
    what: "a fleet that no sample agent matches",
    codes: ["no_sample_agent"],
    files: fleet("selector: {matchLabels: {tier: edge}}\nblueprint: base\n"),
  },
  {
    what: "secrets in plain text",
    codes: ["plaintext_secret"],
    files: {
      ...exporter(
        "{password: hunter2, api_key: abc, headers: {Authorization: Bearer abc}, token_file: /x, key: a, url: '{{ inventory.parameters.proxy | default: 1 }}'}",
      ),
      ...inventory("entries: [{host: a, parameters: {port: 1, proxy: {clientSecret: a, client_secret: b}}}]\n"),
      "executors/x.yaml": object(
        "Executor",
        "x",
        "type: awx\nawx: {url: https://awx.example.com, jobTemplate: 1, tokenEnv: T, extraVars: {become_password: x}}\n",
      ),
    },
  },
];

export const PARAMETERS: BadCase[] = [
  {
    what: "a parameter that nobody declared",
    codes: ["unknown_parameter"],
    files: fleet("selector: {}\nblueprint: base\nparameters: {prot: 1, endpoint: x}\n"),
  },
  {
    what: "an inventory parameter that nobody knows",
    codes: ["unknown_parameter"],
    files: inventory("entries:\n  - {host: a, parameters: {prot: 1, zone: x}}\n"),
  },
  {
    what: "a template that reads what nobody declared",
    codes: ["unknown_parameter"],
    files: exporter('"{{ parameters.prot }}"'),
  },
  {
    what: "a required parameter that is not set",
    codes: ["missing_parameter"],
    files: rendered("extends: base\nparameters:\n  zone: {type: string, required: true}\n"),
  },
  {
    what: "a required parameter that the sample's host lacks",
    codes: ["missing_parameter"],
    files: {
      ...rendered("extends: base\nparameters:\n  zone: {type: string, required: true}\n"),
      ...inventory("entries: [{host: other, parameters: {zone: b}}]\n"),
    },
  },
  {
    what: "values that do not fit their declaration",
    codes: ["invalid_value"],
    files: rendered(
      'extends: base\nparameters:\n  a: {type: integer}\n  b: {type: integer, maximum: 9}\n  c: {type: string, pattern: "^[a-z]+$"}\n  d: {type: string, enum: [x, y]}\n  e: {type: list}\n  f: {type: number, minimum: 0.5}\n',
      'parameters:\n  a: "1"\n  b: 10\n  c: A1\n  d: z\n  e: {a: b}\n  f: 0.1\n',
    ),
  },
  {
    what: "an inventory value that does not fit",
    codes: ["invalid_value"],
    files: inventory('entries: [{host: one, parameters: {port: "4317"}}]\n'),
  },
];

const config = (text: string) => rendered(`extends: base\nconfig:\n${block(text).replace(/^(?=.)/gm, "  ")}`);

export const TEMPLATES: BadCase[] = [
  { what: "a template that is not closed", codes: ["template_error"], files: exporter('"{{ version"') },
  { what: "a block that is not closed", codes: ["template_error"], files: exporter('"{% if version %}x"') },
  { what: "an unknown tag", codes: ["template_error"], files: exporter(`"{% include 'x' %}"`) },
  { what: "an unknown filter", codes: ["template_error"], files: exporter('"{{ version | shout }}"') },
  { what: "a template that asks the clock", codes: ["template_error"], files: exporter(`"{{ 'now' | date: '%s' }}"`) },
  {
    what: "misspelt variables",
    codes: ["template_error"],
    files: config(
      'exporters:\n  debug:\n    a: "{{ agnet.hostName }}"\n    b: "{{ agent.hostname }}"\n    c: "{{ .Values.port }}"\n    d: "{{ fleet.label.team }}"\n',
    ),
  },
  {
    what: "templates of Helm and Jinja",
    codes: ["template_error"],
    files: config(
      'exporters:\n  debug:\n    a: "{{ if .x }}y{{ end }}"\n    b: "{{ agent.os == \'linux\' }}"\n    c: "{% set x = 1 %}"\n',
    ),
  },
  { what: "a map inside a text", codes: ["template_error"], files: exporter('"x {{ fleet.labels }}"') },
  {
    what: "an attribute that the sample lacks",
    codes: ["template_error"],
    files: exporter('"{{ agent.attributes.zone }}"'),
  },
  {
    what: "work without end",
    codes: ["template_error"],
    files: exporter('"{% for i in (1..99999999) %}x{% endfor %}"'),
  },
  {
    what: "expressions that Liquid would read as something else",
    codes: ["template_error"],
    files: rendered(`
      extends: base
      fragments:
        - {name: a, when: agent.os eq "linux", config: {}}
        - {name: b, when: agent.os = "linux", config: {}}
        - {name: c, when: agent.os == "linux" && agent.arch == "arm64", config: {}}
        - {name: d, when: '"lin" in agent.os', config: {}}
        - {name: e, when: agent.os == "linux" or, config: {}}
        - {name: f, when: (agent.os "linux") and true, config: {}}
        - {name: g, config: {exporters: {debug: {a: "{% if version %}{% elseif fleet %}{% endif %}", b: "{{ agent.os version }}"}}}}
    `),
  },
  {
    what: "a condition that does not compile",
    codes: ["template_error"],
    files: rendered(
      'extends: base\nfragments:\n  - {name: a, when: "agent.os ==", config: {}}\n  - {name: b, when: "{{ agent.os }}", config: {}}\n  - {name: c, when: "agnet.os == \'linux\'", config: {}}\n',
    ),
  },
  {
    what: "the same fault for many fleets and samples is said once",
    codes: ["template_error"],
    files: {
      ...exporter('"{{ agent.attributes.zone }}"'),
      "fleets/y.yaml": object("Fleet", "y", "selector: {}\npriority: 2\nblueprint: x\n"),
      "samples/agents/two.yaml":
        "name: two\nattributes: {host.name: two}\n---\nname: three\nattributes: {host.name: three}\n",
    },
  },
];

export const CONFIGURATIONS: BadCase[] = [
  { what: "a blueprint without configuration (N9)", codes: ["invalid_config"], files: rendered("parameters: {}\n") },
  {
    what: "a configuration without pipelines",
    codes: ["invalid_config"],
    files: rendered("config: {receivers: {otlp: {}}}\n"),
  },
  {
    what: "components that nobody defines",
    codes: ["invalid_config"],
    files: config(
      "service:\n  extensions: [health_check]\n  pipelines:\n    metrics: {receivers: [otpl], processors: [batch], exporters: [debug]}\n",
    ),
  },
  {
    what: "a pipeline without receivers, and one without anything",
    codes: ["invalid_config"],
    files: config("service:\n  pipelines:\n    metrics: {receivers: [], exporters: [debug]}\n    logs: {}\n"),
  },
  { what: "a component that a null removed", codes: ["invalid_config"], files: config("exporters:\n  debug:\n") },
  {
    what: "a connector that is used on one side",
    codes: ["invalid_config"],
    files: config("connectors: {count: {}}\nservice: {pipelines: {metrics: {exporters: [count]}}}\n"),
  },
  {
    what: "sections and lists of the wrong shape",
    codes: ["invalid_config"],
    files: config("exporters: [debug]\nreceivers: otlp\n"),
  },
  {
    what: "a component list that is text",
    codes: ["invalid_config"],
    files: config("service: {pipelines: {metrics: {receivers: otlp, exporters: [debug, 1, debug]}}}\n"),
  },
];
