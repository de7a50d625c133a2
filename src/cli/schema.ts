/** `myrctl schema`: JSON Schema files for editors, made from the definitions that validate. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Option, type Command } from "commander";
import { COMBINED_SCHEMA, jsonSchemas, SAMPLE_SCHEMA, schemaFileOf } from "../domain/gitops/json-schema.ts";
import { KINDS, type Kind } from "../domain/gitops/kinds.ts";
import type { Context } from "./command.ts";
import { judging } from "./judging.ts";

const SAMPLE = "sample-agent";

const HELP = `
Editors with the YAML language server check and complete a file whose first line names its schema:
  # yaml-language-server: $schema=../.schema/fleet.schema.json
${COMBINED_SCHEMA} takes objects of every kind. Folders that begin with a dot are not read as objects.

Exit codes: 0 written, 2 could not write.

Examples:
  myrctl schema --out .schema
  myrctl schema --kind Fleet > fleet.schema.json`;

/** Adds the command to `program`. */
export function addSchema(program: Command, context: Context): void {
  program
    .command("schema")
    .description("JSON Schema of the objects, for editors: one file per kind and one for all")
    .option("--out <folder>", "write the files there (default: print the combined schema)")
    .addOption(new Option("--kind <kind>", "only this kind").choices([...KINDS, SAMPLE]))
    .addHelpText("after", HELP)
    .action((options: { out?: string; kind?: Kind | typeof SAMPLE }) =>
      judging(context, () => runSchema(options, context)),
    );
}

async function runSchema(
  { out, kind }: { out?: string; kind?: Kind | typeof SAMPLE },
  { io }: Context,
): Promise<number> {
  const all = jsonSchemas();
  const only = kind === undefined ? undefined : kind === SAMPLE ? SAMPLE_SCHEMA : schemaFileOf(kind);
  if (out === undefined) {
    io.out(JSON.stringify(all[only ?? COMBINED_SCHEMA], null, 2));
    return 0;
  }
  const names = only === undefined ? Object.keys(all) : [only];
  await writeSchemas(out, names);
  io.out(`wrote ${names.map((name) => join(out, name)).join(", ")}`);
  return 0;
}

/** The text of each schema file by its name. */
export const schemaFiles = (): Map<string, string> =>
  new Map(Object.entries(jsonSchemas()).map(([name, schema]) => [name, `${JSON.stringify(schema, null, 2)}\n`]));

async function writeSchemas(folder: string, names: readonly string[]): Promise<void> {
  const texts = schemaFiles();
  await mkdir(folder, { recursive: true });
  for (const name of names) await writeFile(join(folder, name), texts.get(name) ?? "");
}
