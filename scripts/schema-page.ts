/** The text of docs/schema.md: what is written by hand stands in schema-page.txt, the rest comes from the definitions. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { ISSUE_CODES, type IssueCode } from "../src/domain/gitops/issue-codes.ts";
import { COMBINED_SCHEMA, jsonSchemas, SAMPLE_SCHEMA, schemaFileOf } from "../src/domain/gitops/json-schema.ts";
import { KINDS, metadata, SPECS, type Kind } from "../src/domain/gitops/kinds.ts";
import { selector } from "../src/domain/gitops/kinds/fields.ts";
import { sampleAgent } from "../src/domain/gitops/kinds/sample-agent.ts";
import { CODE_NOTES, saidOf } from "./schema-codes.ts";
import { tablesOf, type Schema } from "./schema-tables.ts";

const TEXT = fileURLToPath(new URL("./schema-page.txt", import.meta.url));

/** The whole page. Throws when the text asks for something that nobody makes. */
export function schemaPage(): string {
  const made: Record<string, () => string> = {
    metadata: () => tables("metadata", metadata),
    selector: () => tables("selector", selector),
    sample: () => tables("sample", sampleAgent),
    codes: () => codes.map(sectionOf).join("\n\n"),
    "code-list": () => codes.map((code) => `[\`${code}\`](#${code})`).join(", "),
    files: () => fileList(),
    ...Object.fromEntries(KINDS.map((kind) => [kind, () => tables("spec", SPECS[kind])])),
  };
  return readFileSync(TEXT, "utf8").replaceAll(/<!-- made: ([\w-]+) -->/g, (_, name: string) => {
    const make = made[name];
    if (make === undefined) throw new Error(`schema-page.txt asks for ${name}, which nobody makes`);
    return make();
  });
}

const codes = Object.keys(ISSUE_CODES) as IssueCode[];

const tables = (path: string, schema: z.ZodType): string =>
  tablesOf(path, z.toJSONSchema(schema, { target: "draft-07", io: "input", unrepresentable: "any" }) as Schema);

function sectionOf(code: IssueCode): string {
  const note = CODE_NOTES[code];
  const { severity, todo } = ISSUE_CODES[code];
  const shown = "said" in note ? [] : [`\`\`\`yaml\n${note.shown}\n\`\`\``];
  return [
    `### ${code}`,
    `*${severity}.* ${note.means}`,
    `**What to do.** ${todo}`,
    ...shown,
    `\`\`\`text\n${saidOf(code)}\n\`\`\``,
  ].join("\n\n");
}

function fileList(): string {
  const names: [string, string][] = [
    ...KINDS.map((kind: Kind): [string, string] => [schemaFileOf(kind), `objects of kind ${kind}`]),
    [SAMPLE_SCHEMA, "sample agents"],
    [COMBINED_SCHEMA, "any object, by its `kind`"],
  ];
  const missing = Object.keys(jsonSchemas()).filter((name) => !names.some(([known]) => known === name));
  if (missing.length > 0) throw new Error(`no line for ${missing.join(", ")}`);
  return ["| file | for |", "|---|---|", ...names.map(([name, what]) => `| \`${name}\` | ${what} |`)].join("\n");
}
