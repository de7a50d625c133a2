import { Option, type Command } from "commander";
import type { z } from "zod";
import { NOTICE_KINDS, NOTICE_STATES } from "../domain/notices.ts";
import { noticeChange, noticePage, type notice } from "../domain/rest/notice.ts";
import { everyPage, type Client } from "./client.ts";
import type { Context } from "./command.ts";
import { shortTime, table, type Column } from "./print.ts";

const MOST = 1_000;
type Page = z.output<typeof noticePage>;
type ListOptions = { state: string; kind?: string };

/** `myrctl notices list|ack`. */
export function addNotices(program: Command, context: Context): void {
  const notices = program
    .command("notices")
    .description("what people should know: newer releases, revoked ones, ones that cannot be installed");
  notices
    .command("list")
    .description("list notices, the newest first")
    .addOption(new Option("--state <state>", "which ones").choices([...NOTICE_STATES, "all"]).default("open"))
    .addOption(new Option("--kind <kind>", "only of this kind").choices(NOTICE_KINDS))
    .action(async (options: ListOptions) => {
      const { items, discovery } = await readAll(await context.client(), options);
      const none = options.state === "open" ? "nothing new" : "no such notices";
      context.show({ items, discovery }, () => [table(items, COLUMNS, none), "", lastLook(discovery)].join("\n"));
    });
  notices
    .command("ack")
    .argument("<id>", "as list shows it")
    .description("acknowledge a notice: it is not open any more")
    .option("--comment <text>", "for whoever looks later")
    .action(async (id: string, { comment }: { comment?: string }) => {
      const path = `/notices/${encodeURIComponent(id)}/acknowledge`;
      const body = comment === undefined ? {} : { comment };
      const answer = await (await context.client()).send("POST", path, noticeChange, { body });
      const done = answer.changed ? "acknowledged" : `was acknowledged by ${answer.notice.acknowledged?.by} already`;
      context.show(answer, () => `notice ${answer.notice.id} ${done}: ${answer.notice.text}`);
    });
}

async function readAll(client: Client, { state, kind }: ListOptions): Promise<Pick<Page, "items" | "discovery">> {
  let discovery: Page["discovery"] = null;
  const items = await everyPage(async (cursor) => {
    const page = await client.get("/notices", noticePage, { state, kind, cursor });
    discovery = page.discovery;
    return page;
  }, MOST);
  return { items, discovery };
}

/** Without it "nothing new" could also mean that nobody could look. */
function lastLook(discovery: Page["discovery"]): string {
  if (discovery === null) return "nobody has looked for new releases yet";
  const { source, checkedAt, newest, error } = discovery;
  return error === null
    ? `looked for new releases ${shortTime(checkedAt)} at ${source}: the newest is ${newest ?? "none"}`
    : `could not look for new releases ${shortTime(checkedAt)} at ${source}: ${error.message} (${error.code})`;
}

const COLUMNS: Column<z.output<typeof notice>>[] = [
  ["ID", (it) => it.id],
  ["SINCE", (it) => shortTime(it.at)],
  ["STATE", (it) => it.state],
  ["KIND", (it) => it.kind],
  ["WHAT", (it) => (it.settled === null ? it.text : `${it.text} (${it.settled})`)],
];
