/** Faults of the envelope and of the fields of each kind. */
import { blueprint, executor, fleet, inventory, object, policy, type BadCase } from "./repository.ts";

const whole = (text: string) => ({ "fleets/x.yaml": text });
const GOOD = "spec:\n  selector: {}\n  priority: 1\n  blueprint: base\n";
const envelope = (head: string) => whole(`${head}${GOOD}`);
const named = (name: string) =>
  envelope(`apiVersion: myriarch.dev/v1alpha1\nkind: Fleet\nmetadata:\n  name: ${name}\n`);
const meta = (more: string) => named(`x\n${more.replace(/^(?=.)/gm, "  ").replace(/\n$/, "")}`);

export const ENVELOPE: BadCase[] = [
  { what: "a document without anything (B9)", codes: ["missing_field", "unknown_field"], files: whole("{a: 1}\n") },
  {
    what: "a document that is a list",
    codes: ["missing_field"],
    files: whole("- apiVersion: myriarch.dev/v1alpha1\n  kind: Fleet\n"),
  },
  { what: "a document that is text", codes: ["missing_field"], files: whole("---\njust text\n") },
  {
    what: "an object without apiVersion and kind",
    codes: ["missing_field"],
    files: whole("metadata: {name: x}\nspec: {}\n"),
  },
  {
    what: "an object without metadata",
    codes: ["missing_field"],
    files: envelope("apiVersion: myriarch.dev/v1alpha1\nkind: Fleet\n"),
  },
  {
    what: "an object without name",
    codes: ["missing_field"],
    files: envelope("apiVersion: myriarch.dev/v1alpha1\nkind: Fleet\nmetadata: {labels: {a: b}}\n"),
  },
  {
    what: "an object without spec",
    codes: ["missing_field"],
    files: whole("apiVersion: myriarch.dev/v1alpha1\nkind: Fleet\nmetadata: {name: x}\n"),
  },
  { what: "a spec left empty", codes: ["missing_field"], files: fleet("# nothing yet\n") },
  {
    what: "the API version of another system",
    codes: ["invalid_api_version"],
    files: envelope("apiVersion: v1\nkind: Fleet\nmetadata: {name: x}\n"),
  },
  {
    what: "an API version that is not ours yet",
    codes: ["invalid_api_version"],
    files: envelope("apiVersion: myriarch.dev/v1beta1\nkind: Fleet\nmetadata: {name: x}\n"),
  },
  {
    what: "a misspelt kind",
    codes: ["unknown_kind"],
    files: envelope("apiVersion: myriarch.dev/v1alpha1\nkind: fleets\nmetadata: {name: x}\n"),
  },
  {
    what: "a kind of another system",
    codes: ["unknown_kind"],
    files: envelope("apiVersion: myriarch.dev/v1alpha1\nkind: ConfigMap\nmetadata: {name: x}\n"),
  },
  {
    what: "a kind that is no text",
    codes: ["unknown_kind"],
    files: envelope("apiVersion: myriarch.dev/v1alpha1\nkind: [Fleet]\nmetadata: {name: x}\n"),
  },
  { what: "a name with an upper-case letter", codes: ["invalid_name"], files: named("Edge-EU") },
  { what: "a name with _ and .", codes: ["invalid_name"], files: named("edge_eu.de") },
  { what: "a name that ends with -", codes: ["invalid_name"], files: named("edge-") },
  { what: "a name of 64 characters", codes: ["invalid_name"], files: named("a".repeat(64)) },
  { what: "an empty name", codes: ["invalid_name"], files: named('""') },
  { what: "a name that is a number for YAML", codes: ["invalid_value"], files: named("2026") },
  {
    what: "metadata that is text",
    codes: ["invalid_value"],
    files: envelope("apiVersion: myriarch.dev/v1alpha1\nkind: Fleet\nmetadata: x\n"),
  },
  { what: "a spec that is a list", codes: ["invalid_value"], files: fleet("- selector: {}\n- blueprint: base\n") },
  {
    what: "fields of other systems in metadata",
    codes: ["unknown_field"],
    files: meta("namespace: default\nannotations: {a: b}\n"),
  },
  { what: "misspelt fields of metadata", codes: ["unknown_field"], files: meta("lables: {a: b}\ndescripton: text\n") },
  {
    what: "labels that are no text",
    codes: ["invalid_value", "missing_field"],
    files: meta("labels:\n  real: true\n  rack: 7\n  site:\n"),
  },
  {
    what: "a field beside the four of the envelope",
    codes: ["unknown_field"],
    files: whole(`apiVersion: myriarch.dev/v1alpha1\nkind: Fleet\nmetadata: {name: x}\n${GOOD}status: {}\nspce: {}\n`),
  },
];

const version = (text: string) => fleet(`selector: {}\nblueprint: base\nversion:\n  ${text}\n`);

export const FLEETS: BadCase[] = [
  {
    what: "misspelt fields",
    codes: ["unknown_field", "missing_field"],
    files: fleet(
      'selector: {}\nblueprnt: base\nrolloutpolicy: default\nversion: {target: "0.162.0", allow_downgrade: true}\n',
    ),
  },
  {
    what: "names that every object has by itself (B5)",
    codes: ["unknown_field"],
    files: fleet(
      "selector: {}\nblueprint: base\n__proto__: {priority: 1}\nconstructor: {}\ntoString: x\nhasOwnProperty: y\nupdate: {__proto__: {executor: y}}\n",
    ),
  },
  {
    what: "__proto__ among labels",
    codes: ["unknown_field"],
    files: fleet("selector: {matchLabels: {__proto__: x}}\nblueprint: base\n"),
  },
  { what: "no selector", codes: ["missing_field"], files: fleet("blueprint: base\n") },
  { what: "a selector left empty", codes: ["missing_field"], files: fleet("selector:\nblueprint: base\n") },
  {
    what: "labels of a selector that are no text",
    codes: ["invalid_value"],
    files: fleet("selector: {matchLabels: {edge: true, rack: 12}}\nblueprint: base\n"),
  },
  {
    what: "an unknown operator",
    codes: ["invalid_value"],
    files: fleet(
      "selector: {matchExpressions: [{key: a, operator: in, values: [b]}, {key: a, operator: Equals, values: [b]}]}\nblueprint: base\n",
    ),
  },
  {
    what: "values that do not fit their operator",
    codes: ["invalid_selector"],
    files: fleet(`
      selector:
        matchExpressions:
          - {key: a, operator: In}
          - {key: a, operator: NotIn, values: []}
          - {key: a, operator: Exists, values: [b]}
          - {key: a, operator: DoesNotExist, values: []}
      blueprint: base
    `),
  },
  {
    what: "values that are no list",
    codes: ["invalid_value"],
    files: fleet("selector: {matchExpressions: [{key: a, operator: In, values: b}]}\nblueprint: base\n"),
  },
  {
    what: "a priority in words or with a fraction",
    codes: ["invalid_value"],
    files: {
      ...fleet("selector: {}\nblueprint: base\npriority: high\n"),
      "fleets/y.yaml": object("Fleet", "y", "selector: {}\nblueprint: base\npriority: 1.5\n"),
    },
  },
  {
    what: "parameters that are a list",
    codes: ["invalid_value"],
    files: fleet("selector: {}\nblueprint: base\nparameters: [port]\n"),
  },
  {
    what: "a reference that can be no name",
    codes: ["invalid_value"],
    files: fleet("selector: {}\nblueprint: blueprints/base.yaml\nupdate: {executor: My_AWX}\n"),
  },
  { what: "a version that is a number for YAML", codes: ["version_not_quoted"], files: version("target: 0.162") },
  {
    what: "versions of a choice that are numbers for YAML",
    codes: ["version_not_quoted"],
    files: version("choice: {list: [0.161, 0.162], default: 0.162}"),
  },
  { what: "a version with v", codes: ["invalid_value"], files: version("target: v0.162.0") },
  { what: "a version of two parts", codes: ["invalid_value"], files: version('target: "0.162"') },
  { what: "a range as target", codes: ["invalid_value"], files: version('target: ">=0.162.0"') },
  { what: "latest", codes: ["invalid_value"], files: version("target: latest") },
  {
    what: "a version with neither target nor choice",
    codes: ["missing_field"],
    files: version("distribution: otelcol"),
  },
  {
    what: "target and choice",
    codes: ["invalid_value"],
    files: version('target: "0.162.0"\n  choice: {list: ["0.162.0"], default: "0.162.0"}'),
  },
  {
    what: "range and list",
    codes: ["invalid_value"],
    files: version('choice: {range: "*", list: ["0.162.0"], default: "0.162.0"}'),
  },
  { what: "neither range nor list", codes: ["invalid_value"], files: version('choice: {default: "0.162.0"}') },
  {
    what: "a range that is none",
    codes: ["invalid_value"],
    files: version('choice: {range: "0.160 to 0.170", default: "0.162.0"}'),
  },
  {
    what: "a default outside of the range",
    codes: ["invalid_value"],
    files: version('choice: {range: ">=0.160.0 <0.162.0", default: "0.162.0"}'),
  },
  {
    what: "a default that is not in the list",
    codes: ["invalid_value"],
    files: version('choice: {list: ["0.160.0", "0.161.0"], default: "0.162.0"}'),
  },
  {
    what: "a choice without default",
    codes: ["missing_field"],
    files: version('choice: {list: ["0.160.0", "0.161.0"]}'),
  },
];

const window = (text: string) => policy(`maintenanceWindows:\n  - ${text}\n`);
const zones = ["Europe/Berlim", "", "CEST", "+03:00", "UTC+1", "utc"];

export const POLICIES: BadCase[] = [
  {
    what: "durations that are none",
    codes: ["invalid_value"],
    files: policy('healthWait: "90"\ntargetTimeout: 30\nspacing: -5s\napprovalTimeout: 1d\ntargetMaxTime: 5 m\n'),
  },
  {
    what: "shares that are none",
    codes: ["invalid_value"],
    files: policy(
      'maxConcurrent: "120%"\nfailureThreshold: {wave: ten, rollout: -1}\nwaves: [{name: a, upTo: 1.5}, {name: b, upTo: "10 %"}]\n',
    ),
  },
  { what: "a cap of nothing", codes: ["invalid_value"], files: policy("maxConcurrent: 0\n") },
  {
    what: "a wave without size",
    codes: ["missing_field"],
    files: policy("waves:\n  - name: canary\n    approval: required\n"),
  },
  { what: "a wave without name", codes: ["missing_field"], files: policy("waves: [{upTo: 1}]\n") },
  {
    what: "two waves of one name",
    codes: ["invalid_value"],
    files: policy('waves:\n  - {name: a, upTo: 1}\n  - {name: a, upTo: "50%"}\n'),
  },
  {
    what: "words that are not among the allowed ones",
    codes: ["invalid_value"],
    files: policy(
      "onThreshold: stop\nonNewChange: queued\noffline: {action: ignore}\nwaves: [{name: a, upTo: 1, approval: twoPerson}]\n",
    ),
  },
  {
    what: "misspelt fields",
    codes: ["unknown_field"],
    files: policy("maxconcurrent: 1\nfailureTreshold: {wave: 1}\nwaves: [{name: a, upTo: 1, approvals: none}]\n"),
  },
  {
    what: "the selector of a wave",
    codes: ["unknown_field", "invalid_selector"],
    files: policy(
      "waves:\n  - {name: a, selector: {labels: {a: b}}}\n  - {name: b, selector: {matchExpressions: [{key: a, operator: In}]}}\n",
    ),
  },
  ...zones.map((zone): BadCase => ({
    what: `the time zone "${zone}"`,
    codes: ["invalid_value"],
    files: window(`{days: [mon], start: "22:00", end: "04:00", timezone: "${zone}"}`),
  })),
  {
    what: "clock times that are none",
    codes: ["invalid_value"],
    files: window('{days: [mon], start: "24:00", end: "4:00", timezone: UTC}'),
  },
  {
    what: "a window without quotes round its times",
    codes: ["invalid_value"],
    files: window("{days: [mon], start: 2200, end: 400, timezone: UTC}"),
  },
  {
    what: "a window that starts when it ends",
    codes: ["invalid_value"],
    files: window('{days: [mon], start: "22:00", end: "22:00", timezone: UTC}'),
  },
  {
    what: "a window without days",
    codes: ["missing_field", "invalid_value"],
    files: policy(
      'maintenanceWindows:\n  - {start: "22:00", end: "04:00", timezone: UTC}\n  - {days: [], start: "22:00", end: "04:00", timezone: UTC}\n  - {days: [Monday, mo], start: "22:00", end: "04:00", timezone: UTC}\n',
    ),
  },
  {
    what: "windows in which no target fits",
    codes: ["invalid_value"],
    files: policy(`
      healthWait: 1h
      finishInWindow: true
      maintenanceWindows:
        - {days: [mon, tue], start: "22:00", end: "22:30", timezone: Europe/Berlin}
        - {days: [tue], start: "22:30", end: "23:00", timezone: Europe/Berlin}
    `),
  },
];

export const OTHERS: BadCase[] = [
  { what: "an executor of an unknown type", codes: ["invalid_value"], files: executor("type: ansible\n") },
  {
    what: "an executor without type",
    codes: ["missing_field"],
    files: executor("webhook: {url: https://x.example.com/, secretEnv: HOOK}\n"),
  },
  {
    what: "executors without their section",
    codes: ["missing_field"],
    files: { ...executor("type: awx\n"), "executors/y.yaml": object("Executor", "y", "type: webhook\n") },
  },
  {
    what: "a section that belongs to another type",
    codes: ["invalid_value"],
    files: executor("type: updater\nwebhook: {url: https://x.example.com/, secretEnv: HOOK}\n"),
  },
  {
    what: "an executor with two secrets, and one with none",
    codes: ["invalid_value"],
    files: {
      ...executor("type: webhook\nwebhook: {url: https://x.example.com/, secretEnv: A, secretFile: a}\n"),
      "executors/y.yaml": object("Executor", "y", "type: awx\nawx: {url: https://awx.example.com, jobTemplate: 7}\n"),
    },
  },
  {
    what: "URLs that are not usable",
    codes: ["invalid_value"],
    files: {
      ...executor("type: webhook\nwebhook: {url: 'https://user:pw@x.example.com/', secretEnv: A}\n"),
      "executors/y.yaml": object(
        "Executor",
        "y",
        "type: awx\nawx: {url: awx.example.com, jobTemplate: 7, tokenEnv: A}\n",
      ),
      "executors/z.yaml": object(
        "Executor",
        "z",
        "type: webhook\nwebhook: {url: 'file:///etc/passwd', secretEnv: A}\n",
      ),
    },
  },
  {
    what: "a secret instead of its name",
    codes: ["invalid_value"],
    files: executor("type: webhook\nwebhook: {url: https://x.example.com/, secretEnv: 'p@ss word'}\n"),
  },
  {
    what: "values of an executor that do not fit",
    codes: ["invalid_value"],
    files: executor(
      'type: awx\nawx: {url: https://awx.example.com, jobTemplate: -1, tokenEnv: A, verifyTls: "no", timeout: 5, extraVars: [a]}\n',
    ),
  },
  {
    what: "an inventory entry without host",
    codes: ["missing_field"],
    files: inventory("entries:\n  - labels: {a: b}\n"),
  },
  {
    what: "values of an inventory that do not fit",
    codes: ["invalid_value"],
    files: inventory('entries:\n  - {host: a, instanceUid: "1", expected: "yes"}\n  - {host: 17, labels: {rack: 7}}\n'),
  },
  {
    what: "an inventory that is a map of hosts",
    codes: ["invalid_value"],
    files: inventory("entries:\n  web-01: {labels: {a: b}}\n"),
  },
  {
    what: "misspelt fields of an inventory",
    codes: ["unknown_field"],
    files: inventory("entries:\n  - {host: a, label: {a: b}, param: {}}\n"),
  },
  {
    what: "declarations of parameters that are none",
    codes: ["invalid_value", "missing_field", "unknown_field"],
    files: blueprint(
      "extends: base\nparameters:\n  a: {type: int}\n  b: {required: true}\n  c: {type: string, defualt: x}\n  9d: {type: string}\n  e: string\n  f: {type: string, enum: []}\n",
    ),
  },
  {
    what: "declarations that contradict themselves",
    codes: ["invalid_value"],
    files: blueprint(
      'extends: base\nparameters:\n  a: {type: integer, default: x}\n  b: {type: string, pattern: "("}\n  c: {type: integer, pattern: x}\n  d: {type: string, minimum: 1}\n  e: {type: string, enum: [a, b], default: c}\n  f: {type: integer, minimum: 5, maximum: 9, default: 10}\n',
    ),
  },
  {
    what: "a blueprint whose config is a text",
    codes: ["invalid_value"],
    files: blueprint("extends: base\nconfig: |\n  receivers: {otlp: {}}\n"),
  },
  {
    what: "fragments that are none",
    codes: ["invalid_value", "missing_field", "unknown_field"],
    files: blueprint(
      "extends: base\nfragments:\n  - {name: a}\n  - {config: {}}\n  - {name: c, if: version, config: {}}\n  - {name: d, when: true, config: {}}\n",
    ),
  },
];

export const SECRETS: BadCase[] = [
  {
    what: "secrets that the server does not allow, or not for this address",
    codes: ["secret_not_allowed"],
    secrets: [{ kind: "env", name: "HOOK", urlPrefixes: ["https://hooks.example.com/otelcol/"] }],
    files: {
      ...executor("type: webhook\nwebhook: {url: https://evil.example.com/otelcol/, secretEnv: HOOK}\n"),
      "executors/y.yaml": object(
        "Executor",
        "y",
        "type: webhook\nwebhook: {url: https://hooks.example.com/otelcol/x, secretEnv: HOOK}\n",
      ),
      "executors/z.yaml": object(
        "Executor",
        "z",
        "type: awx\nawx: {url: https://awx.example.com, jobTemplate: 7, tokenFile: awx-token}\n",
      ),
    },
  },
];
