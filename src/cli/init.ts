/**
 * `myrctl init DIR`: a repository to start from, with sample agents, schema files for editors and CI files. It is a copy of
 * examples/starter. No file that exists is ever changed.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import type { Context } from "./command.ts";
import { judging } from "./judging.ts";
import { CannotRun } from "./revision.ts";
import { schemaFiles } from "./schema.ts";

const STARTER = fileURLToPath(new URL("../../examples/starter/", import.meta.url));
const SCHEMA_FOLDER = ".schema";

const HELP = `
Exit codes: 0 written, 2 could not write.`;

/** Adds the command to `program`. */
export function addInit(program: Command, context: Context): void {
  program
    .command("init")
    .description("write a repository to start from: a fleet, blueprint, policy, inventory, samples, CI files")
    .argument("<folder>", "where to; made when it is not there")
    .option("--force", "also into a folder that is not empty; files that exist stay as they are")
    .addHelpText("after", HELP)
    .action((folder: string, options: { force?: boolean }) =>
      judging(context, () => runInit(folder, options.force === true, context)),
    );
}

async function runInit(folder: string, isForced: boolean, { io, self }: Context): Promise<number> {
  if (!isForced && existsSync(folder)) await refuseFilled(folder);
  const { written, left } = await copyStarter(folder);
  io.out(
    [
      `${folder}: ${written.length} files written`,
      ...written.map((path) => `  ${path}`),
      ...(left.length === 0 ? [] : ["left as they are:", ...left.map((path) => `  ${path}`)]),
      "",
      "What next:",
      `  ${self} validate ${folder}`.padEnd(COMMAND) + "  judge it as the server would",
      `  ${self} render --fleet linux ${folder}`.padEnd(COMMAND) + "  see what the hosts would get",
      `Then read ${join(folder, "README.md")}, commit the folder to a Git repository, and let gitops.url of the server name it.`,
    ].join("\n"),
  );
  return 0;
}
const COMMAND = 44;

/** A folder with nothing but Git's own is as good as empty. */
async function refuseFilled(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name !== ".git");
  if (names.length === 0) return;
  throw new CannotRun(
    `${folder} is not empty. Give another folder, or --force: it adds what is missing and changes no file that exists.`,
  );
}

async function copyStarter(folder: string): Promise<{ written: string[]; left: string[] }> {
  const files = new Map<string, string | Uint8Array>();
  for (const entry of await readdir(STARTER, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(relative(STARTER, path), await readFile(path));
  }
  for (const [name, text] of schemaFiles()) files.set(join(SCHEMA_FOLDER, name), text);
  const [written, left]: [string[], string[]] = [[], []];
  for (const [path, content] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    ((await writeNew(join(folder, path), content)) ? written : left).push(path);
  }
  return { written, left };
}

/** False when there is something of that name already. */
async function writeNew(path: string, content: string | Uint8Array): Promise<boolean> {
  try {
    await writeFile(path, content, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
