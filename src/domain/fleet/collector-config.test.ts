import { describe, expect, test } from "vitest";
import { readYaml } from "../gitops/yaml-source.ts";
import { judgeCollectorConfig } from "./collector-config.ts";

const judge = (text: string) =>
  judgeCollectorConfig(readYaml(new TextEncoder().encode(text)).documents[0]?.data ?? null);
const places = (text: string): string[] => judge(text).map(({ path }) => path.join("."));

const PARTS = {
  receivers: "{nop: , otlp: {protocols: {grpc: {}}}, otlp/2: {}}",
  processors: "{batch: {}, batch/big: }",
  exporters: "{nop: , debug: {}}",
  connectors: "{forward: , forward/x: {}, count: {}}",
  extensions: "{health_check: , zpages: {}}",
  service: "{pipelines: {traces: {receivers: [nop], exporters: [nop]}}}",
};
const config = (parts: Partial<Record<keyof typeof PARTS, string>> = {}, more = ""): string =>
  `{${Object.entries({ ...PARTS, ...parts })
    .map(([section, text]) => `${section}: ${text}`)
    .join(", ")}${more}}`;
const pipelines = (text: string, more = ""): string => config({ service: `{pipelines: {${text}}${more}}` });

describe("what a collector starts with", () => {
  const fine: [string, string][] = [
    ["one pipeline", config()],
    [
      "every signal, with and without a name",
      pipelines(
        ["traces", "metrics/a", "logs/a.b-c_d", "profiles", "traces/ü/2"]
          .map((p) => `${p}: {receivers: [otlp/2], processors: [batch, batch/big], exporters: [debug, nop]}`)
          .join(", "),
      ),
    ],
    ["no processors", pipelines("traces: {receivers: [nop], processors: null, exporters: [nop]}")],
    ["an empty list of processors", pipelines("traces: {receivers: [nop], processors: [], exporters: [nop]}")],
    ["the same receiver twice", pipelines("traces: {receivers: [nop, nop], exporters: [nop]}")],
    ["sections that are empty or null", config({ processors: "", connectors: "{}", extensions: "null" })],
    [
      "extensions and telemetry of any kind",
      config({
        service: `{extensions: [zpages, health_check], telemetry: {logs: {level: debug}, anything: [1]}, pipelines: {logs: {receivers: [nop], exporters: [nop]}}}`,
      }),
    ],
    [
      "connectors that join",
      pipelines(
        "traces: {receivers: [nop], exporters: [count, forward]}, traces/2: {receivers: [forward], exporters: [nop]}, metrics: {receivers: [count], exporters: [nop]}",
      ),
    ],
    ["a section from a file", config({ receivers: "'${file:/a.yaml}'" })],
    ["a service from a file", config({ service: "'${file:/a.yaml}'" })],
    ["pipelines from a file", config({ service: "{pipelines: '${file:/a.yaml}'}" })],
    ["a pipeline from a file", pipelines("traces: '${file:/a.yaml}'")],
    ["a list from the environment", pipelines("traces: {receivers: '${env:R:-[nop]}', exporters: [nop]}")],
    ["a member from the environment", pipelines("traces: {receivers: ['${env:R}'], exporters: [nop]}")],
    ["a component from a file", config({ exporters: "{nop: '${file:/a.yaml}'}" })],
    [
      "a connector whose other side the collector fills in",
      pipelines("traces: {receivers: [nop], exporters: [forward]}, traces/2: '${file:/a.yaml}'"),
    ],
    ["a section that only others know", config({}, ", x-anchors: {a: 1}")],
  ];
  test.each(fine)("%s", (_, text) => expect(judge(text)).toEqual([]));
});

describe("what no collector starts with", () => {
  const refused: [string, string, string[]][] = [
    ["an empty map (N9)", "{}", [""]],
    ["a list", "[a]", [""]],
    ["text", "text", [""]],
    ["nothing", "", [""]],
    ["a section that is a list", config({ processors: "[batch]" }), ["processors"]],
    ["a section that is text", config({ service: "text" }), ["service"]],
    ["a slip in a section's name", config({}, ", procesors: {batch: {}}"), ["procesors"]],
    ["a section in the singular", config({}, ", exporter: {otlp: {}}"), ["exporter"]],
    ["no service", config({ service: "" }), ["service.pipelines"]],
    ["no pipelines", config({ service: "{pipelines: {}}" }), ["service.pipelines"]],
    ["pipelines as a list", config({ service: "{pipelines: [a]}" }), ["service.pipelines"]],
    [
      "an unknown key of service",
      config({ service: PARTS.service.replace("{", "{telemetri: {}, ") }),
      ["service.telemetri"],
    ],
    ["a pipeline that is null", pipelines("traces: null"), ["service.pipelines.traces"]],
    ["an unknown signal", pipelines("metric: {receivers: [nop], exporters: [nop]}"), ["service.pipelines.metric"]],
    [
      "a pipeline named / only",
      pipelines("traces/: {receivers: [nop], exporters: [nop]}"),
      ["service.pipelines.traces/"],
    ],
    [
      "an unknown key of a pipeline",
      pipelines("traces: {receivers: [nop], exporters: [nop], procesors: [batch]}"),
      ["service.pipelines.traces.procesors"],
    ],
    ["no receivers", pipelines("traces: {exporters: [nop]}"), ["service.pipelines.traces.receivers"]],
    ["no exporters", pipelines("traces: {receivers: [nop], exporters: []}"), ["service.pipelines.traces.exporters"]],
    [
      "a list that is text",
      pipelines("traces: {receivers: nop, exporters: [nop]}"),
      ["service.pipelines.traces.receivers"],
    ],
    [
      "a number as a name",
      pipelines("traces: {receivers: [1], exporters: [nop]}"),
      ["service.pipelines.traces.receivers"],
    ],
    [
      "an undefined component of each kind",
      pipelines("traces: {receivers: [a], processors: [b], exporters: [c]}", ", extensions: [d]"),
      [
        "service.extensions",
        "service.pipelines.traces.receivers",
        "service.pipelines.traces.processors",
        "service.pipelines.traces.exporters",
      ],
    ],
    [
      "a processor as a receiver",
      pipelines("traces: {receivers: [batch], exporters: [nop]}"),
      ["service.pipelines.traces.receivers"],
    ],
    [
      "a processor twice",
      pipelines("traces: {receivers: [nop], processors: [batch, batch/big, batch], exporters: [nop]}"),
      ["service.pipelines.traces.processors"],
    ],
    [
      "a connector that only receives",
      pipelines("traces: {receivers: [forward], exporters: [nop]}"),
      ["connectors.forward"],
    ],
    [
      "a connector that only exports",
      pipelines("traces: {receivers: [nop], exporters: [count]}"),
      ["connectors.count"],
    ],
    ["a connector that is an exporter too", config({ connectors: "{debug: {}}" }), ["connectors.debug"]],
    ["settings that are a number", config({ processors: "{batch: 5}" }), ["processors.batch"]],
    ["settings that are a list", config({ processors: "{batch: []}" }), ["processors.batch"]],
    ["a component named / only", config({ processors: "{batch/: {}}" }), ["processors.batch/"]],
    ["a blank in a name", config({ processors: "{batch/a b: {}}" }), ["processors.batch/a b"]],
    ["a number as a component", config({ processors: "{22: {}}" }), ["processors.=22"]],
    [
      "a template as a key",
      config({ processors: '{"batch/{{ fleet.name }}": {}}' }),
      ["processors.batch/{{ fleet.name }}"],
    ],
    ["a reference as a key", config({ processors: '{"${env:P}": {}}' }), ["processors.${env:P}"]],
  ];
  test.each(refused)("%s", (_, text, paths) => expect(places(text).toSorted()).toEqual(paths.toSorted()));

  const hints: [string, string, string][] = [
    ["a section", config({}, ", reciever: {}"), "did you mean receivers?"],
    ["a signal", pipelines("trace: {receivers: [nop], exporters: [nop]}"), "did you mean traces?"],
    ["a component", pipelines("traces: {receivers: [otpl], exporters: [nop]}"), "did you mean otlp?"],
    ["a component that a null removed", pipelines("traces: {receivers: [kafka], exporters: [nop]}"), "write {} for"],
    ["a template as a key", config({ processors: '{"batch/{{ x }}": {}}' }), "keys are neither templates"],
  ];
  test.each(hints)("%s that is wrong comes with what to write", (_, text, hint) => {
    expect(judge(text).map((problem) => problem.hint)).toEqual([expect.stringContaining(hint)]);
  });
});
