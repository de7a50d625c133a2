import type { Command } from "commander";
import type { z } from "zod";
import { releaseChange, releaseList, type release } from "../domain/rest/release.ts";
import type { Context } from "./command.ts";
import { shortTime, table, type Column } from "./print.ts";

/** `myrctl releases list|revoke|unrevoke`. */
export function addReleases(program: Command, context: Context): void {
  const releases = program
    .command("releases")
    .description("versions of distributions: who runs them, which are revoked");
  releases
    .command("list")
    .description("list releases that were ever asked for")
    .action(async () => {
      const { items } = await (await context.client()).get("/releases", releaseList);
      context.show(items, () => table(items, COLUMNS, "no releases yet: they are fetched when a rollout needs them"));
    });
  for (const [action, description, done] of [
    ["revoke", "offer it to nobody any more; its rollouts stop until unrevoke, rollback or abort", "revoked"],
    ["unrevoke", "allow it again; what it alone held goes on", "allowed again"],
  ] as const)
    releases
      .command(action)
      .argument("<distribution>", "for example otelcol-contrib")
      .argument("<version>", "for example 0.162.0")
      .requiredOption("--reason <text>", "for the audit log, and for whoever wonders why")
      .description(description)
      .action(async (distribution: string, version: string, { reason }: { reason: string }) => {
        const path = `/releases/${encodeURIComponent(distribution)}/${encodeURIComponent(version)}/${action}`;
        const answer = await (await context.client()).send("POST", path, releaseChange, { body: { reason } });
        context.show(answer, () => {
          const what = `${answer.distribution} ${answer.version}: ${answer.changed ? done : `was ${done} already`}`;
          const verb = action === "revoke" ? "stopped" : "go on unless something else holds them";
          return answer.rollouts.length === 0 ? what : `${what}\nrollouts ${answer.rollouts.join(", ")}: ${verb}`;
        });
      });
}

const COLUMNS: Column<z.output<typeof release>>[] = [
  ["RELEASE", (it) => `${it.distribution} ${it.version}`],
  ["PLATFORMS", (it) => it.platforms.join(", ") || "none"],
  ["HOSTS", (it) => it.hosts],
  [
    "REVOKED",
    ({ revoked }) => (revoked === null ? "no" : `${shortTime(revoked.at)} by ${revoked.by}: ${revoked.reason}`),
  ],
];
