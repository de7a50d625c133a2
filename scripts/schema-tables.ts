/** The tables of docs/schema.md: one per object of a JSON Schema, with field, type, default, required and meaning. */

/** What of JSON Schema the definitions of ours come to. */
export type Schema = {
  title?: string;
  description?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  examples?: unknown[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  anyOf?: Schema[];
  items?: Schema;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
};

/** Sections of the page that a title links to. */
const LINKED: Record<string, string> = {
  duration: "values",
  "count or share": "values",
  version: "values",
  labels: "values",
  "free-form map": "values",
  "name of an object": "values",
  selector: "selector",
};

/** Tables of the object at `path` and of every object below it, in the order of its fields. */
export function tablesOf(path: string, schema: Schema): string {
  const fields = Object.entries(schema.properties ?? {});
  const rows = fields.map(([name, field]) => rowOf(name, field, schema.required?.includes(name) === true));
  const below = fields.flatMap(([name, field]) => objectsBelow(`${path}.${name}`, field));
  const head = "| field | type | default | required | meaning |\n|---|---|---|---|---|";
  return [
    `### \`${path}\``,
    ...(schema.description === undefined ? [] : [schema.description]),
    [head, ...rows].join("\n"),
    ...below.map(([at, inner]) => tablesOf(at, inner)),
  ].join("\n\n");
}

function rowOf(name: string, field: Schema, isRequired: boolean): string {
  const example = exampleOf(field);
  const meaning = [field.description ?? "", ...(example === undefined ? [] : [`For example ${example}.`])];
  const cells = [
    `\`${name}\``,
    typeOf(field),
    field.default === undefined ? "" : code(field.default),
    isRequired ? "yes" : "",
    meaning.join(" "),
  ];
  return `| ${cells.map((text) => text.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
}

const code = (value: unknown): string => `\`${JSON.stringify(value)}\``;

/** Types that stand under "Values" have their examples there. */
const exampleOf = (field: Schema): string | undefined =>
  field.examples === undefined || field.examples.length === 0 || DESCRIBED_ONCE.has(field.title ?? "")
    ? undefined
    : field.examples.map(code).join(" or ");
const DESCRIBED_ONCE = new Set(["duration", "version"]);

function typeOf(field: Schema): string {
  const link = field.title === undefined ? undefined : LINKED[field.title];
  if (field.title !== undefined && link !== undefined) return `[${field.title}](#${link})`;
  if (field.const !== undefined) return code(field.const);
  if (field.enum !== undefined) return field.enum.map(code).join(", ");
  if (field.properties !== undefined) return "map";
  if (field.anyOf !== undefined) return field.anyOf.map(typeOf).join(" or ");
  if (field.type === "array") return `list of ${typeOf(field.items ?? {})}${countOf(field.minItems, field.maxItems)}`;
  if (typeof field.additionalProperties === "object") return `map of ${typeOf(field.additionalProperties)}`;
  if (field.type === "object") return "map";
  if (field.type === "string") return `string${lengthOf(field)}`;
  if (field.type === "integer" || field.type === "number") return `${field.type}${rangeOf(field)}`;
  return field.type ?? "any value";
}

function countOf(min: number | undefined, max: number | undefined): string {
  const bounds = [...(min === undefined ? [] : [`at least ${min}`]), ...(max === undefined ? [] : [`at most ${max}`])];
  return bounds.length === 0 ? "" : ` (${bounds.join(", ")})`;
}

/** A text that must only not be empty says so by being required. */
const lengthOf = ({ maxLength }: Schema): string =>
  maxLength === undefined ? "" : ` (at most ${maxLength} characters)`;

function rangeOf({ minimum, exclusiveMinimum, maximum }: Schema): string {
  const least = exclusiveMinimum === undefined ? minimum : exclusiveMinimum + 1;
  const isBound = (value: number | undefined): value is number =>
    value !== undefined && Math.abs(value) !== Number.MAX_SAFE_INTEGER;
  return countOf(isBound(least) ? least : undefined, isBound(maximum) ? maximum : undefined);
}

/** The objects with fields of their own that a field leads to; a selector has one section for all of its uses. */
function objectsBelow(path: string, field: Schema): [string, Schema][] {
  if (field.title === "selector") return [];
  if (field.properties !== undefined) return [[path, field]];
  if (field.items !== undefined) return objectsBelow(`${path}[]`, field.items);
  return typeof field.additionalProperties === "object"
    ? objectsBelow(`${path}.<name>`, field.additionalProperties)
    : [];
}
