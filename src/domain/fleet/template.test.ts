import { describe, expect, test } from "vitest";
import { compileCondition, compileTemplate, TemplateError, withoutLeadingDots } from "./template.ts";

const SCOPE = {
  fleet: { name: "edge", labels: { team: "a" }, parameters: {} },
  parameters: { n: 3, list: ["b", "a"], map: { b: 1, a: { c: [2] } }, text: "abc", none: null, key: "hostName" },
  agent: { instanceUid: "u", hostName: "h1", os: "linux", arch: "amd64", attributes: { zone: "z", "a.b": "c" } },
  inventory: { labels: {}, parameters: {} },
  version: "0.162.0",
};
const render = (text: string) => compileTemplate(text).render(SCOPE);

describe("values", () => {
  const values: [string, unknown][] = [
    ["{{ parameters.n }}", 3],
    ["{{- .parameters.n -}}", 3],
    ["{{ parameters.list }}", ["b", "a"]],
    ["{{ parameters.map.a }}", { c: [2] }],
    ["{{ parameters.none }}", null],
    ["{{ true }}", true],
    ['{{ "0777" }}', "0777"],
    ["{{ 1.5 | times: 2 }}", 3],
    ["{{ parameters.n | append: '' }}", "3"],
    [" {{ parameters.n }}", " 3"],
    ["{{ parameters.n }}\n", "3\n"],
    ["{{ parameters.n }}{{ parameters.n }}", "33"],
    ["{% if agent.os == 'linux' %}{{ parameters.n }}{% endif %}", "3"],
    ["a{{ parameters.none }}b", "ab"],
    ['{{ agent.attributes["a.b"] }}', "c"],
    ["{{ agent[parameters.key] }}", "h1"],
    ["{{ agent.attributes.absent | default: .fleet.name }}", "edge"],
    ["{% for x in parameters.list %}{{ x }}{% unless forloop.last %},{% endunless %}{% endfor %}", "b,a"],
    ["{% assign x = parameters.list | sort | join: '-' %}{{ x }}", "a-b"],
    ["{% case agent.os %}{% when 'linux' %}l{% else %}o{% endcase %}", "l"],
    ["{% capture x %}{{ version }}!{% endcapture %}{{ x }}{{ x }}", "0.162.0!0.162.0!"],
    ["{% comment %}{{ nothing }}{% endcomment %}x", "x"],
    ["${env:A} {{ parameters.n }} ${file:/b} $$1 $${x}", "${env:A} 3 ${file:/b} $$1 $${x}"],
    ["{% raw %}{{ x }} {% y %}{% endraw %}", "{{ x }} {% y %}"],
    ["{{ '}}' }}", "}}"],
    ["{{ '{{' }} .x }}", "{{ .x }}"],
  ];
  test.each(values)("%s", (text, value) => expect(render(text)).toEqual(value));
});

describe("a leading dot is dropped where a path begins, nowhere else", () => {
  const texts: [string, string][] = [
    ["{{ .a.b }}", "{{ a.b }}"],
    ["{{.a|append:.b}}", "{{a|append:b}}"],
    ["{{-.a-}}", "{{-a-}}"],
    ["{% if .a == .b and .c %}", "{% if a == b and c %}"],
    ["{% for x in (1...n) %}", "{% for x in (1..n) %}"],
    ["{{ x[.a] | append: \".b\" | append: '.c' }}", "{{ x[a] | append: \".b\" | append: '.c' }}"],
    ['{{ "\\" .a" | append: .b }}', '{{ "\\" .a" | append: b }}'],
    ['{{ "}}" | append: .a }}', '{{ "}}" | append: a }}'],
    ["text .a {{ b }} .c", "text .a {{ b }} .c"],
    ["{% raw %}{{ .a }}{% endraw %}{{ .b }}", "{% raw %}{{ .a }}{% endraw %}{{ b }}"],
    ["{{ 1 | plus: .5 }}", "{{ 1 | plus: .5 }}"],
    ["{{ .a", "{{ a"],
  ];
  test.each(texts)("%s", (text, without) => expect(withoutLeadingDots(text)).toBe(without));
});

describe("refused with an error for the author", () => {
  const refused: [string, string][] = [
    ["an undefined variable", "{{ agent.nope }}"],
    ["an unknown root", "{{ env.HOME }}"],
    ["an unknown filter", "{{ version | nope }}"],
    ["a partial", "{% include 'x' %}"],
    ["a rendered partial", "{% render 'x' %}"],
    ["a layout", "{% layout 'x' %}"],
    ["a block", "{% block x %}{% endblock %}"],
    ["a counter", "{% increment x %}"],
    ["a cycle", "{% cycle 'a', 'b' %}"],
    ["the clock", "{{ 'now' | date: '%s' }}"],
    ["another clock", "{{ 'now' | date_to_xmlschema }}"],
    ["chance", "{{ parameters.list | sample }}"],
    ["a filter that goes round the checks", "{{ parameters.list | raw }}!"],
    ["text that is compiled while it renders", "{{ parameters.list | where_exp: 'x', 'x == agent.hostName' }}"],
    ["the prototype", "{{ agent.__proto__ }}"],
    ["a constructor", "{{ parameters.list.constructor }}"],
    ["a method", "{{ agent.toString }}"],
    ["a list inside a text", "x{{ parameters.list }}"],
    ["a map inside a text", "x{{ parameters.map }}"],
    ["a division by zero", "{{ 1 | divided_by: 0 }}"],
    ["a number without end inside a text", "x{{ 1 | divided_by: 0 }}"],
    ["a value that is none", "{{ '' | split: ',' | first }}"],
    ["an open output", "{{ version"],
    ["an open tag", "{% if version"],
    ["a block without end", "{% if version %}x"],
    ["nothing", "{{ }}"],
  ];
  test.each(refused)("%s", (_, text) => expect(() => render(text)).toThrow(TemplateError));
});

describe("cut, by what is counted and not by the clock", () => {
  const doubling = (step: string): string => `{% assign s = 'x' %}{% for i in (1..99) %}${step}{% endfor %}{{ s }}`;
  const greedy: [string, string][] = [
    ["a long range", "{% for i in (1..99999999) %}{% endfor %}"],
    ["many steps", "{% for i in (1..1500000) %}{% endfor %}"],
    [
      "nested loops over one list",
      "{% assign l = (1..500) %}{% for a in l %}{% for b in l %}{% for c in l %}{% endfor %}{% endfor %}{% endfor %}",
    ],
    ["text that doubles by a filter", doubling("{% assign s = s | append: s %}")],
    ["text that doubles by a capture", doubling("{% capture s %}{{ s }}{{ s }}{% endcapture %}")],
    ["text that doubles by replacing", doubling("{% assign s = s | replace: 'x', 'xx' %}")],
    ["literal text in a loop", `{% for i in (1..90000) %}${"x".repeat(9_000)}{% endfor %}`],
    ["a list within a list within a list", doubling("{% assign s = s | push: s | push: s %}{% assign t = s | json %}")],
    ["a long scalar", `${"x".repeat(1_000_000)}{{ version }}`],
    ["nesting without end", "{% if true %}".repeat(999)],
    ["brackets without end", `{{ ${"a[".repeat(50_000)} }}`],
    ["quotes without end", `{{ ${'"'.repeat(300_001)} }}`],
    ["escaped quotes without end", `{% if ${'\\"'.repeat(300_001)} %}`],
    ["openings without end", "{{".repeat(400_000)],
    ["tags without end", "{% if true %}".repeat(70_000)],
  ];
  test.each(greedy)("%s", (_, text) => {
    const messages = [1, 2].map(() => {
      try {
        return render(text);
      } catch (error) {
        return error instanceof TemplateError ? `refused: ${error.message}` : error;
      }
    });
    expect(messages[0]).toMatch(/^refused: (?!.*template render)/);
    expect(messages[1]).toBe(messages[0]);
  });
});

describe("what a template reads", () => {
  const reads: [string, string[]][] = [
    ["{{ agent.hostName }}", ["agent.hostName"]],
    ["{{ agent[parameters.key].x }}", ["agent", "parameters.key"]],
    ["{{ parameters.x | default: agent.hostName }}", ["agent.hostName", "parameters.x"]],
    ["{% assign a = agent %}{{ a.hostName }}", ["agent"]],
    ["{% if version %}{% assign agent = fleet %}{% endif %}{{ agent.os }}", ["agent.os", "fleet", "version"]],
    ["{% for agent in parameters.l %}{% else %}{{ agent.os }}{% endfor %}", ["agent.os", "parameters.l"]],
  ];
  test.each(reads)("%s: at least everything that it can meet", (text, paths) => {
    expect(
      compileTemplate(text)
        .reads.map((path) => path.join("."))
        .toSorted(),
    ).toEqual(paths);
  });
});

describe("conditions", () => {
  const conditions: [string, boolean][] = [
    ['agent.os == "linux"', true],
    ['.agent.os == "windows" or .version == "0.162.0"', true],
    ["agent.attributes.absent", false],
    ["not agent.attributes.absent", true],
    ['agent.attributes.zone contains "z" and parameters.n > 2', true],
    ['parameters.list contains "c"', false],
  ];
  test.each(conditions)("%s is %s", (text, holds) => expect(compileCondition(text).holds(SCOPE)).toBe(holds));
  test.each(["{{ agent.os }}", "true %}{% endif %}{% if true", "agent.os = 'x'", " "])("%j is refused", (text) => {
    expect(() => compileCondition(text)).toThrow(TemplateError);
  });
});
