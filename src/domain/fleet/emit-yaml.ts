/**
 * The bytes of a configuration: one YAML document emitted from data, keys in one order, and written so that a YAML 1.1
 * and a 1.2 reader see the same (decisions, Git). Other bytes can brick a supervisor at its next restart.
 */
import { Document, Pair, Scalar, YAMLMap, YAMLSeq, type Node } from "yaml";
import { compareText, decodeKey, isPlainMap, samePlain, type Plain, type PlainMap } from "../gitops/plain.ts";
import { readBack, tokensOf } from "../gitops/yaml-source.ts";

/** The document, or undefined if some reader would see something else than `data`. */
export function emitYaml(data: PlainMap): string | undefined {
  const document = new Document(null, { version: "1.2", customTags: (tags) => [FLOAT, ...tags] });
  document.contents = nodeOf(data) as never;
  const text = document.toString({ lineWidth: 0, doubleQuotedAsJSON: true, doubleQuotedMinMultiLineLength: Infinity });
  const bytes = text.replace(SPECIAL, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const tokens = tokensOf(bytes);
  const isSame = samePlain(readBack(tokens, "1.1"), data) && samePlain(readBack(tokens, "1.2"), data);
  return isSame ? bytes : undefined;
}

/** Line breaks and controls that some reader treats in its own way; they can stand in double quotes only. */
// oxlint-disable-next-line no-control-regex -- controls are what this is about
const SPECIAL = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

/**
 * In YAML 1.1 a number with an exponent needs a dot: `1e+21` would be text there. Beyond 2^53 only a float is honest: the
 * digits of `1e20` written out are an integer, which readers refuse or round.
 */
const FLOAT = {
  tag: "tag:yaml.org,2002:float",
  default: true,
  identify: (value: unknown): boolean =>
    typeof value === "number" && (/e/.test(String(value)) || (Number.isInteger(value) && !Number.isSafeInteger(value))),
  test: /^never$/,
  resolve: Number,
  stringify: ({ value }: { value: unknown }): string =>
    Number(value)
      .toExponential()
      .replace(/^(-?\d+)e/, "$1.0e"),
};

/** Written plain only what no reader takes for anything but text: `e1` is a float for some YAML 1.1 readers. */
const PLAIN_TEXT = /^[A-Za-z][A-Za-z0-9_./-]*$/;
const NOT_PLAIN = /^(?:y|n|yes|no|on|off|true|false|null|nan|inf|e\d+)$/i;

function textNode(text: string): Scalar {
  const node = new Scalar(text);
  node.type = PLAIN_TEXT.test(text) && !NOT_PLAIN.test(text) ? Scalar.PLAIN : Scalar.QUOTE_DOUBLE;
  return node;
}

const scalarNode = (value: string | number | boolean | null): Scalar =>
  typeof value === "string" ? textNode(value) : new Scalar(value);

function nodeOf(value: Plain): Node {
  if (Array.isArray(value)) {
    const list = new YAMLSeq();
    list.items = value.map(nodeOf);
    return list;
  }
  if (!isPlainMap(value)) return scalarNode(value);
  const map = new YAMLMap();
  map.items = Object.entries(value)
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([key, member]) => new Pair(scalarNode(decodeKey(key)), nodeOf(member)));
  return map;
}
