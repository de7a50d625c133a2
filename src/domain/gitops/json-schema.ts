/**
 * JSON Schema of the repository's objects for editors and other tools, made from the very definitions that validate
 * (gitops-schema: nothing is typed twice). Draft-07, which the YAML language server understands. What a schema cannot say
 * (references, durations that are too long, zones that do not exist) is left to validation: a schema never refuses what
 * validation accepts.
 */
import { z } from "zod";
import { BRAND } from "../brand.ts";
import { ifThen } from "./kinds/fields.ts";
import { KINDS, metadata, SPECS, type Kind } from "./kinds.ts";
import { sampleAgent } from "./kinds/sample-agent.ts";

type JsonSchema = Record<string, unknown>;

export const COMBINED_SCHEMA = "myriarch.schema.json";
export const SAMPLE_SCHEMA = "sample-agent.schema.json";

/** The name of a kind's schema file: `rollout-policy.schema.json`. */
export const schemaFileOf = (kind: Kind): string =>
  `${kind.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter}`).toLowerCase()}.schema.json`;

/** File name → schema: one per kind, one for samples, one that takes any object. Each stands for itself. */
export function jsonSchemas(): Record<string, object> {
  const kinds = KINDS.map((kind): [string, JsonSchema] => [schemaFileOf(kind), { ...HEAD, ...kindSchema(kind) }]);
  const sample = { ...HEAD, title: "Sample agent", ...plainSchema(sampleAgent) };
  return Object.fromEntries([...kinds, [SAMPLE_SCHEMA, sample], [COMBINED_SCHEMA, combined()]]);
}

const HEAD = { $schema: "http://json-schema.org/draft-07/schema#" };

function plainSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    target: "draft-07",
    io: "input",
    unrepresentable: "any",
  });
  return forReaders(rest) as JsonSchema;
}

/** Editors show `description` as plain text, and text with marks only when it is called `markdownDescription`. */
function forReaders(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(forReaders);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(Object.entries(schema).flatMap(([keyword, value]) => keywordForReaders(keyword, value)));
}

function keywordForReaders(keyword: string, value: unknown): [string, unknown][] {
  if (DATA.has(keyword)) return [[keyword, value]];
  // names of fields, which may be called like a keyword
  if (keyword === "properties") {
    return [[keyword, Object.fromEntries(Object.entries(value as object).map(([name, it]) => [name, forReaders(it)]))]];
  }
  if (keyword !== "description" || typeof value !== "string") return [[keyword, forReaders(value)]];
  const plain = value.replaceAll(/[`*]/g, "");
  const marked: [string, unknown][] = plain === value ? [] : [["markdownDescription", value]];
  return [[keyword, plain], ...marked];
}

const DATA = new Set(["default", "examples", "const", "enum", "required"]);

const API_VERSION = { const: BRAND.apiVersion, description: `Exactly ${BRAND.apiVersion}.` };

function kindSchema(kind: Kind): JsonSchema {
  const spec = plainSchema(SPECS[kind]);
  return {
    title: kind,
    ...(typeof spec["description"] === "string" ? { description: spec["description"] } : {}),
    type: "object",
    properties: {
      apiVersion: API_VERSION,
      kind: { const: kind, description: "The kind of the object." },
      metadata: plainSchema(metadata),
      spec,
    },
    required: ["apiVersion", "kind", "metadata", "spec"],
    additionalProperties: false,
  };
}

/** By `if` and `then`, so that an editor names the fault of this kind and not of all five. */
function combined(): JsonSchema {
  return {
    ...HEAD,
    title: `${BRAND.apiVersion} object`,
    type: "object",
    properties: { apiVersion: API_VERSION, kind: { enum: [...KINDS], description: "The kind of the object." } },
    required: ["apiVersion", "kind", "metadata", "spec"],
    allOf: KINDS.map((kind) =>
      ifThen({ properties: { kind: { const: kind } }, required: ["kind"] }, { $ref: `#/definitions/${kind}` }),
    ),
    definitions: Object.fromEntries(KINDS.map((kind) => [kind, kindSchema(kind)])),
  };
}
