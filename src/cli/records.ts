import type { Command } from "commander";
import { z } from "zod";
import type { Context } from "./command.ts";
import { table } from "./print.ts";

/** Answers whose rows are shown as they come: a newer server may say more, and an older myrctl shows it too. */
const record = z.record(z.string(), z.unknown());
const records = z.object({ items: z.array(record) });
type Row = z.output<typeof record>;

/** `myrctl artifacts list`, `depots status`. */
export function addRecords(program: Command, context: Context): void {
  const list = async (path: string, none: string): Promise<void> => {
    const answer = await (await context.client()).get(path, records);
    context.show(answer.items, () => rowsOf(answer.items, none));
  };
  program
    .command("artifacts")
    .description("archives of releases: how each was verified, and its copies")
    .command("list")
    .description("list artifacts")
    .action(() => list("/artifacts", "no artifacts yet: they are fetched when a rollout needs them"));
  program
    .command("depots")
    .description("artifact store nodes")
    .command("status")
    .description("which nodes answer, at which generation, with how many copies")
    .action(() => list("/depots", "no depots are registered"));
}

const scalar = (value: unknown): string | undefined => {
  if (value === null || value === undefined) return undefined;
  if (typeof value === "string") return value;
  return JSON.stringify(value);
};

/** One column per field that is a text, number or flag in some row; the rest is for `--json`. */
function rowsOf(rows: readonly Row[], none: string): string {
  const simple = (value: unknown): boolean => value !== null && typeof value !== "object" && value !== undefined;
  const keys = Array.from(new Set(rows.flatMap((row) => Object.keys(row).filter((key) => simple(row[key])))));
  return table(
    rows,
    keys.map((key) => [key, (row) => scalar(row[key])]),
    none,
  );
}
