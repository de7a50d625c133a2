/**
 * Writes docs/schema.md and the schema files of examples/quickstart, all from the definitions that validate. Run
 * `node scripts/generate-schema.ts` after changing a kind or a code of an issue.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { schemaFiles } from "../src/cli/schema.ts";
import { schemaPage } from "./schema-page.ts";

export const SCHEMA_PAGE = fileURLToPath(new URL("../docs/schema.md", import.meta.url));
export const EXAMPLE_SCHEMAS = fileURLToPath(new URL("../examples/quickstart/.schema/", import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(SCHEMA_PAGE, schemaPage());
  await mkdir(EXAMPLE_SCHEMAS, { recursive: true });
  for (const [name, text] of schemaFiles()) await writeFile(join(EXAMPLE_SCHEMAS, name), text);
}
