/** Text that is not YAML, or YAML that a repository may not hold. */
import { blueprint, fleet, object, policy, rendered, type BadCase } from "./repository.ts";

const config = (text: string) => rendered(`extends: base\nconfig:\n  exporters:\n    debug:\n${text}`);
const list = (of: string): string => Array(9).fill(of).join(", ");
const whole = (text: string) => ({ "fleets/x.yaml": text });
const BOMB = ["l0: &l0 ha", ...Array.from({ length: 8 }, (_, k) => `l${k + 1}: &l${k + 1} [${list(`*l${k}`)}]`)];

export const SYNTAX: BadCase[] = [
  {
    what: "bad indentation beside a valid change (A7)",
    codes: ["invalid_yaml"],
    files: { ...policy("healthWait: 3m\n"), ...whole(object("Fleet", "x", "selector: {}\n   blueprint: base\n")) },
  },
  {
    what: "a key that is indented as if it belonged to the value before",
    codes: ["invalid_yaml"],
    files: whole("apiVersion: myriarch.dev/v1alpha1\n kind: Fleet\nmetadata: {name: x}\n"),
  },
  { what: "a tab as indentation", codes: ["invalid_yaml"], files: whole("kind: Fleet\nspec:\n\tselector: {}\n") },
  { what: "an unclosed list", codes: ["invalid_yaml"], files: whole("kind: Fleet\nspec: {a: [1,\nb: 2}\n") },
  {
    what: "an unclosed map at the end of the file",
    codes: ["invalid_yaml"],
    files: fleet("selector: {matchLabels: {a: b}\nblueprint: base\n"),
  },
  { what: "an unclosed quote", codes: ["invalid_yaml"], files: fleet('selector: {}\nblueprint: "base\n') },
  { what: "a colon without space", codes: ["invalid_yaml"], files: fleet("selector: {}\nblueprint:base\n") },
  { what: "a colon inside plain text", codes: ["invalid_yaml"], files: config("      note: seen at: noon\n") },
  {
    what: "a template without quotes",
    codes: ["invalid_yaml"],
    files: config("      port: {{ parameters.port }}\n      hosts: [{{ agent.hostName }}]\n"),
  },
  {
    what: "a template block without quotes",
    codes: ["invalid_yaml"],
    files: config("      a: {% if version %}x{% endif %}\n"),
  },
  { what: "text after a template", codes: ["invalid_yaml"], files: config("      a: {{ agent.hostName }}:4317\n") },
  { what: "a pattern that begins with *", codes: ["invalid_yaml"], files: config("      include: *.log\n") },
  { what: "text that begins with @", codes: ["invalid_yaml"], files: config("      user: @me\n") },
  { what: "text that begins with %", codes: ["invalid_yaml"], files: config("      format: %Y\n") },
  {
    what: "a merge conflict that was committed",
    codes: ["invalid_yaml"],
    files: whole(
      `${object("Fleet", "x", "selector: {}\n")}<<<<<<< HEAD\n  blueprint: base\n=======\n  blueprint: edge\n>>>>>>> feature\n`,
    ),
  },
  { what: "another format", codes: ["invalid_yaml"], files: whole("<html>\n<body>: 404 Not Found</body>\n</html>\n") },
  {
    what: "bytes that are not UTF-8",
    codes: ["invalid_yaml"],
    files: { "fleets/x.yaml": Uint8Array.of(107, 58, 32, 0xe4) },
  },
  {
    what: "UTF-16",
    codes: ["invalid_yaml"],
    files: { "fleets/x.yaml": Uint8Array.of(0xff, 0xfe, 107, 0, 58, 0, 49, 0) },
  },
  {
    what: "one broken document among three",
    codes: ["invalid_yaml"],
    files: whole(
      `${object("Fleet", "a", "selector: {}\nblueprint: base\n")}---\na: [\n---\n${object("Fleet", "c", "selector: {}\nblueprint: base\n")}`,
    ),
  },
];

export const RULES: BadCase[] = [
  {
    what: "a duplicate key",
    codes: ["invalid_yaml"],
    files: fleet("selector: {}\nblueprint: base\nblueprint: other\n"),
  },
  {
    what: "a duplicate key at the top",
    codes: ["invalid_yaml"],
    files: whole(`${object("Fleet", "x", "selector: {}\nblueprint: base\n")}metadata:\n  name: y\n`),
  },
  {
    what: "a duplicate key in a flow map",
    codes: ["invalid_yaml"],
    files: fleet("selector: {matchLabels: {a: b, a: c}}\nblueprint: base\n"),
  },
  {
    what: "a duplicate key behind quotes",
    codes: ["invalid_yaml"],
    files: fleet(`selector: {}\nblueprint: base\n"blueprint": base\n'blueprint': base\n`),
  },
  {
    what: "a duplicate key deep in a free-form area",
    codes: ["invalid_yaml"],
    files: config("      a: [{b: {c: 1, d: 2,\n        c: 3}}]\n"),
  },
  {
    what: "a number twice as key, in two spellings",
    codes: ["invalid_yaml"],
    files: config("      ports: {22: ssh, 0x16: telnet}\n"),
  },
  { what: "an unknown tag", codes: ["invalid_yaml"], files: fleet("selector: {}\nblueprint: !ref base\n") },
  {
    what: "tags of YAML 1.1",
    codes: ["invalid_yaml"],
    files: config("      a: !!binary aGk=\n      b: !!timestamp 2020-01-01\n      c: !!set {x}\n"),
  },
  {
    what: "a directive that asks for YAML 1.1",
    codes: ["invalid_yaml"],
    files: whole(`%YAML 1.1\n---\n${object("Fleet", "x", "selector: {}\nblueprint: base\n")}`),
  },
  { what: "an alias without anchor", codes: ["invalid_yaml"], files: fleet("selector: {}\nblueprint: *base\n") },
  {
    what: "an alias to an anchor of another document",
    codes: ["invalid_yaml"],
    files: whole(
      `${object("Fleet", "a", "selector: &all {}\npriority: 1\nblueprint: base\n")}---\n${object("Fleet", "b", "selector: *all\nblueprint: base\n")}`,
    ),
  },
  { what: "an alias that contains itself", codes: ["invalid_yaml"], files: config("      a: &a [*a]\n") },
  { what: "a merge of text", codes: ["invalid_yaml"], files: fleet("selector: {}\nblueprint: base\n<<: defaults\n") },
  {
    what: "a merge of a list with text",
    codes: ["invalid_yaml"],
    files: fleet("selector: {}\nblueprint: base\n<<: [{priority: 1}, defaults]\n"),
  },
  { what: "a key that is a list", codes: ["invalid_yaml"], files: config("      ? [a, b]\n      : 1\n") },
  {
    what: "nesting without end",
    codes: ["invalid_yaml"],
    files: config(`      a: ${"[".repeat(200)}${"]".repeat(200)}\n`),
  },
  {
    what: "nesting that exhausts the parser",
    codes: ["invalid_yaml"],
    files: config(`      a: ${"[".repeat(10_000)}\n`),
  },
  { what: "a billion laughs", codes: ["alias_bomb"], files: config(BOMB.map((line) => `      ${line}\n`).join("")) },
  {
    what: "a bomb of merges",
    codes: ["alias_bomb"],
    files: blueprint(
      `config:\n  m0: &m0 {${Array.from({ length: 500 }, (_, k) => `k${k}: 1`).join(", ")}}\n  all: [${Array(1_100).fill("{<<: *m0}").join(", ")}]\n`,
    ),
  },
  {
    what: "integers beyond 2^53",
    codes: ["invalid_value"],
    files: config("      id: 9007199254740993\n      below: -9007199254740993\n      hex: 0xFFFFFFFFFFFFFFFF\n"),
  },
  {
    what: "numbers that are not finite",
    codes: ["invalid_value"],
    files: config("      a: .inf\n      b: -.INF\n      c: .nan\n      d: 1e400\n"),
  },
  {
    what: "NUL and half a surrogate pair",
    codes: ["invalid_value"],
    files: config('      a: "\\0"\n      b: "\\ud800"\n      c: ["x\\uDFFF"]\n'),
  },
];
