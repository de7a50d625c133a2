import type { Command } from "commander";
import type { z } from "zod";
import { artifactList, type artifact } from "../domain/rest/artifact.ts";
import { copyMatrix, replicationHistory } from "../domain/rest/depot.ts";
import { pinAnswer, retentionList } from "../domain/rest/retention.ts";
import { artifactsText, artifactText, matrixText, retentionText } from "./artifact-text.ts";
import type { Context } from "./command.ts";
import { UsageError } from "./connection.ts";
import { shortTime } from "./print.ts";

const HISTORY_SHOWN = 15;

/** `myrctl artifacts list|show|status|explain|pin|unpin`. */
export function addArtifacts(program: Command, context: Context): void {
  const artifacts = program
    .command("artifacts")
    .description("archives of releases: how each was verified, its copies, and how long it stays");
  artifacts
    .command("list")
    .description("list artifacts, what needs somebody first")
    .action(async () => {
      const { items } = await (await context.client()).get("/artifacts", artifactList);
      context.show(items, () => artifactsText(items));
    });
  artifacts
    .command("show")
    .argument("<artifact>", "its file name, its id, or the beginning of its SHA-256")
    .description("one artifact: its signature, its copies, and what became of them")
    .action(async (which: string) => showOne(context, which));
  artifacts
    .command("status")
    .option("--all", "also artifacts that are everywhere")
    .description("who has what: artifacts by depots")
    .action(async ({ all = false }: { all?: boolean }) => {
      const answer = await (await context.client()).get("/replication/matrix", copyMatrix);
      context.show(answer, () => matrixText(answer, all));
    });
  artifacts
    .command("explain")
    .argument("[distribution]", "of one release only, for example otelcol-contrib")
    .argument("[version]", "for example 0.162.0")
    .description("why each release stays, or when it is removed; changes nothing")
    .action(async (distribution?: string, version?: string) => explain(context, distribution, version));
  addPins(artifacts, context);
}

async function showOne(context: Context, which: string): Promise<void> {
  const client = await context.client();
  const { items } = await client.get("/artifacts", artifactList);
  const [found, ...others] = items.filter((it) => isMeant(it, which));
  if (found === undefined) throw new UsageError(`no artifact is called ${which}; myrctl artifacts list shows them`);
  if (others.length > 0)
    throw new UsageError(`${which} is not one artifact: ${[found, ...others].map((it) => it.fileName).join(", ")}`);
  const { sha256 } = found;
  const query = { limit: HISTORY_SHOWN, ...(sha256 !== null && { sha256 }) };
  const history = sha256 === null ? [] : (await client.get("/replication/history", replicationHistory, query)).items;
  context.show({ ...found, history }, () => artifactText(found, history));
}

const isMeant = (it: z.output<typeof artifact>, which: string): boolean =>
  it.fileName === which ||
  it.id === which ||
  (which.length >= 6 && it.sha256?.startsWith(which.toLowerCase()) === true);

async function explain(context: Context, distribution?: string, version?: string): Promise<void> {
  const answer = await (await context.client()).get("/releases/retention", retentionList);
  const wanted = version?.replace(/^v/, "");
  const items = answer.items.filter(
    (it) => (distribution ?? it.distribution) === it.distribution && (wanted ?? it.version) === it.version,
  );
  if (items.length === 0 && distribution !== undefined)
    throw new UsageError(`depots keep no release ${[distribution, wanted].join(" ").trim()}`);
  context.show({ ...answer, items }, () => retentionText({ ...answer, items }));
}

function addPins(artifacts: Command, context: Context): void {
  const pathOf = (distribution: string, version: string): string =>
    `/releases/${encodeURIComponent(distribution)}/${encodeURIComponent(version)}/pin`;
  artifacts
    .command("pin")
    .argument("<distribution>", "for example otelcol-contrib")
    .argument("<version>", "for example 0.162.0")
    .option("--until <time>", "RFC 3339 time, for example 2027-06-30T00:00:00Z; without it: until unpin")
    .option("--reason <text>", "for the audit log, and for whoever wonders why")
    .description("keep a release although nothing needs it")
    .action(async (distribution: string, version: string, body: { until?: string; reason?: string }) => {
      const answer = await (await context.client()).send("POST", pathOf(distribution, version), pinAnswer, { body });
      context.show(answer, () => {
        const until = answer.until === null ? "until it is unpinned" : `until ${shortTime(answer.until)}`;
        const nothing = answer.archives === 0 ? "; depots keep nothing of it yet" : "";
        return `${answer.distribution} ${answer.version}: stays ${until}${nothing}`;
      });
    });
  artifacts
    .command("unpin")
    .argument("<distribution>", "for example otelcol-contrib")
    .argument("<version>", "for example 0.162.0")
    .option("--reason <text>", "for the audit log, and for whoever wonders why")
    .description("keep a release only as long as something needs it, and artifacts.keepFor after")
    .action(async (distribution: string, version: string, body: { reason?: string }) => {
      const answer = await (await context.client()).send("DELETE", pathOf(distribution, version), pinAnswer, { body });
      context.show(
        answer,
        () => `${answer.distribution} ${answer.version}: ${answer.changed ? "unpinned" : "was not pinned"}`,
      );
    });
}
