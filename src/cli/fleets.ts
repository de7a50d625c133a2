import type { Command } from "commander";
import { fleets } from "../domain/rest/fleet.ts";
import type { Context } from "./command.ts";
import { table } from "./print.ts";

const perVersion = (rows: readonly { version: string; hosts: number }[]): string =>
  rows.map(({ version, hosts }) => `${version} (${hosts})`).join(", ") || "-";

/** `myrctl fleets list`: what Git wants, what is offered, what runs, as three values. */
export function addFleets(program: Command, context: Context): void {
  program
    .command("fleets")
    .description("what Git wants, what is offered, what runs")
    .command("list")
    .description("list fleets")
    .action(async () => {
      const answer = await (await context.client()).get("/fleets", fleets);
      context.show(answer, () => {
        const lines = table(
          answer.items,
          [
            ["FLEET", (it) => it.name],
            ["GIT WANTS", (it) => it.wants?.version ?? "configuration only"],
            ["OFFERED", (it) => perVersion(it.offered)],
            ["RUNS", (it) => perVersion(it.runs)],
            ["AGENTS", (it) => it.agents],
            ["CONNECTED", (it) => it.connected],
            ["ROLLOUT", (it) => it.rollout && `#${it.rollout.n} ${it.rollout.state}`],
          ],
          "no fleets yet: add fleets/NAME.yaml to the repository and push",
        );
        const held = answer.items.flatMap((it) => (it.held === null ? [] : [`${it.name} is ${it.held.sentence}`]));
        const left = answer.unassigned === 0 ? [] : [`${answer.unassigned} collectors belong to no fleet`];
        return [lines, ...held, ...left].join("\n");
      });
    });
}
