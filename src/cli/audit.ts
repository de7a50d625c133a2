import type { Command } from "commander";
import { auditPage, auditVerdict } from "../domain/rest/audit.ts";
import { everyPage } from "./client.ts";
import { wholeNumber, type Context } from "./command.ts";
import { UsageError } from "./connection.ts";
import { shortTime, table } from "./print.ts";

type ListOptions = { action?: string; object?: string; principal?: string; outcome?: string; limit: string };

/** `myrctl audit list|verify`. */
export function addAudit(program: Command, context: Context): void {
  const audit = program.command("audit").description("who changed or tried what");
  audit
    .command("list")
    .description("newest first")
    .option("--action <action>", "for example rollouts.abort")
    .option("--object <object>", "for example demo/3")
    .option("--principal <name>")
    .option("--outcome <outcome>", "accepted or refused")
    .option("--limit <n>", "at most so many", "50")
    .action(async (options: ListOptions) => list(context, options));
  audit
    .command("verify")
    .description("recompute the hash chain; exit 1 when a row was changed or removed")
    .option("--head <hash>", "a head written down before (log, metrics): finds a cut tail too")
    .action(async ({ head }: { head?: string }) => verify(context, head));
}

async function list(context: Context, { limit, ...filter }: ListOptions): Promise<void> {
  const max = wholeNumber(limit, 1, 1_000_000);
  if (max === undefined) throw new UsageError("--limit takes a number from 1 on");
  const client = await context.client();
  const size = Math.min(max, 500);
  const rows = await everyPage((cursor) => client.get("/audit", auditPage, { ...filter, cursor, limit: size }), max);
  context.show(rows, () =>
    table(
      rows,
      [
        ["SEQ", (it) => it.seq],
        ["AT", (it) => shortTime(it.at)],
        ["WHO", (it) => (it.claimed === null ? it.principal : `${it.principal} (claims ${it.claimed})`)],
        ["ACTION", (it) => it.action],
        ["OBJECT", (it) => it.object],
        ["OUTCOME", (it) => (it.code === null ? it.outcome : `${it.outcome}: ${it.code}`)],
        ["DETAIL", (it) => JSON.stringify(it.detail)],
      ],
      "no rows",
    ),
  );
}

const BECAUSE = {
  changed: "it was changed after it was written",
  missing_before: "a row before it was removed",
  head_not_found: "the given head is not in the chain: the tail was cut off",
} as const;

async function verify(context: Context, head: string | undefined): Promise<void> {
  const verdict = await (await context.client()).get("/audit/verify", auditVerdict, { head });
  const { firstBad } = verdict;
  if (!verdict.ok) context.exitCode(1);
  context.show(verdict, () =>
    firstBad === null
      ? `whole: ${verdict.rows} rows, head ${verdict.head?.hash ?? "none"}`
      : `BROKEN after ${verdict.rows} rows${firstBad.seq === null ? "" : ` at row ${firstBad.seq}`}: ${BECAUSE[firstBad.because]}`,
  );
}
