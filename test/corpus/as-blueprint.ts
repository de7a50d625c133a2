/** Wraps a collector configuration as a Blueprint, as an operator would: the text stays, literal braces are made raw. */
import { isScalar, parseDocument, visit, type Scalar } from "yaml";

/** The Blueprint `name` that renders to what `configuration` (one YAML document, a map) says. */
export function asBlueprint(name: string, configuration: string): string {
  const indented = withRawBraces(configuration).replace(/^(?=.)/gm, "    ");
  return `apiVersion: myriarch.dev/v1alpha1\nkind: Blueprint\nmetadata: {name: ${name}}\nspec:\n  config:\n${indented}`;
}

/** Each value that Liquid would read is replaced where it stands; every other character stays. Keys are no templates. */
function withRawBraces(text: string): string {
  const wanted: { start: number; end: number; text: string }[] = [];
  visit(parseDocument(text, { merge: true, keepSourceTokens: true }), {
    Scalar: (key, node) => {
      if (key === "key" || !isTemplate(node)) return;
      const [start, end] = node.range ?? [0, 0];
      // a block scalar ends behind its line break
      const after = text[end - 1] === "\n" ? "\n" : "";
      wanted.push({ start, end, text: JSON.stringify(asRaw(node.value)) + after });
    },
  });
  return wanted.reduceRight((whole, { start, end, text }) => whole.slice(0, start) + text + whole.slice(end), text);
}

const isTemplate = (node: unknown): node is Scalar<string> =>
  isScalar(node) && typeof node.value === "string" && /\{\{|\{%/.test(node.value);

/** Liquid text that renders to `text`. Raw ends at the first `endraw`: one in the text is written as an output. */
const asRaw = (text: string): string =>
  `{% raw %}${text.replace(/\{%(?=-?\s*endraw)/g, '{% endraw %}{{ "{%" }}{% raw %}')}{% endraw %}`;
