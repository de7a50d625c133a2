import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import {
  CONTROL_NAMES,
  controlAnswer,
  rolloutDetail,
  rolloutPage,
  targetDetail,
  targetPage,
  type ControlName,
} from "../domain/rest/rollout.ts";
import { PHASES } from "../domain/rollout/phases.ts";
import { everyPage } from "./client.ts";
import { wholeNumber, type Context } from "./command.ts";
import { UsageError } from "./connection.ts";
import { shortTime, table } from "./print.ts";
import { rolloutText, targetTable } from "./rollout-text.ts";
import { targetText } from "./target-text.ts";

/** `myrctl rollouts list|show|targets` and every control. */
export function addRollouts(program: Command, context: Context): void {
  const rollouts = program.command("rollouts").description("rollouts and their controls");
  rollouts
    .command("list")
    .description("list rollouts, newest first")
    .option("--fleet <name>", "of this fleet")
    .option("--limit <n>", "at most so many", "20")
    .action(async ({ fleet, limit }: { fleet?: string; limit: string }) => list(context, fleet, limit));
  rollouts
    .command("show")
    .argument("<rollout>", "FLEET/N")
    .description("state and why, what comes next, waves, what did not arrive by cause, and which control is possible")
    .option("--targets", "its hosts too: phase, since, why")
    .action(async (name: string, { targets }: { targets?: boolean }) => show(context, name, targets === true));
  rollouts
    .command("targets")
    .argument("<rollout>", "FLEET/N")
    .argument("[host]", "UID or host name: everything about this one, with every attempt and offer")
    .description("the hosts of a rollout: phase, since, why; of one also what happens next, or whom it waits for")
    .option("--phase <phase>", "in this phase")
    .action(async (name: string, host: string | undefined, { phase }: { phase?: string }) =>
      host === undefined ? targets(context, name, phase) : oneTarget(context, name, host),
    );
  for (const control of CONTROL_NAMES)
    rollouts
      .command(control)
      .argument("<rollout>", "FLEET/N")
      .description(HELP[control])
      .option("--reason <text>", "why; required for abort, rollback, and resume after a threshold")
      .option("--wave <name>", "only if this wave waits (approve)")
      .option("--idempotency-key <key>", "sending it again with the same key does nothing new")
      .action(async (name: string, options: ControlOptions) => send(context, control, name, options));
}

type ControlOptions = { reason?: string; wave?: string; idempotencyKey?: string };

const HELP: Record<ControlName, string> = {
  approve: "let the waiting wave start",
  pause: "no new offers; what a host has begun it finishes",
  resume: "clear the holds and go on",
  retry: "offer the targets that did not succeed again",
  rollback: "return everything that it changed, newest wave first",
  abort: "end it: withdraw what can be taken back, hold the change",
};

function pathOf(name: string): string {
  const [, fleet, n] = /^([a-z0-9][a-z0-9-]{0,62})[/#](\d{1,9})$/.exec(name) ?? [];
  if (fleet === undefined || n === undefined)
    throw new UsageError(`${name} names no rollout: write FLEET/N, for example demo/3`);
  return `/rollouts/${fleet}/${n}`;
}

async function send(context: Context, control: ControlName, name: string, options: ControlOptions): Promise<void> {
  const { idempotencyKey = randomUUID(), ...body } = options;
  const path = `${pathOf(name)}/${control}`;
  const answer = await (await context.client()).send("POST", path, controlAnswer, { body, idempotencyKey });
  context.show(answer, () => {
    const pending = answer.pending === true ? " (held already; the workflow follows when it answers)" : "";
    return `${name}: ${answer.changed ? "" : "nothing changed: "}${answer.message}; now ${answer.state}${pending}`;
  });
}

async function list(context: Context, fleet: string | undefined, limit: string): Promise<void> {
  const max = wholeNumber(limit, 1, 100_000);
  if (max === undefined) throw new UsageError("--limit takes a number from 1 on");
  const client = await context.client();
  const size = Math.min(max, 200);
  const rows = await everyPage((cursor) => client.get("/rollouts", rolloutPage, { fleet, cursor, limit: size }), max);
  context.show(rows, () =>
    table(
      rows,
      [
        ["ROLLOUT", (it) => `${it.fleet}/${it.n}`],
        ["KIND", (it) => it.kind],
        ["VERSION", (it) => it.version ?? "configuration"],
        ["COMMIT", (it) => it.commit.slice(0, 7)],
        ["STATE", (it) => it.state],
        ["OK", (it) => it.counts.succeeded],
        ["FAILED", (it) => it.counts.failed + it.counts.rolled_back],
        ["ALL", (it) => it.total],
        ["CREATED", (it) => shortTime(it.createdAt)],
        ["WHY", (it) => it.reason],
      ],
      "no rollouts yet",
    ),
  );
}

async function targets(context: Context, name: string, phase: string | undefined): Promise<void> {
  if (phase !== undefined && !(PHASES as readonly string[]).includes(phase))
    throw new UsageError(`--phase takes one of ${PHASES.join(", ")}`);
  const path = `${pathOf(name)}/targets`;
  const client = await context.client();
  const rows = await everyPage((cursor) => client.get(path, targetPage, { phase, cursor, limit: 1_000 }), 1_000_000);
  context.show(rows, () => targetTable(rows));
}

async function oneTarget(context: Context, name: string, host: string): Promise<void> {
  const client = await context.client();
  const it = await client.get(`${pathOf(name)}/targets/${encodeURIComponent(host)}`, targetDetail);
  context.show(it, () => targetText(name, it));
}

async function show(context: Context, name: string, withTargets: boolean): Promise<void> {
  const client = await context.client();
  const path = pathOf(name);
  const detail = await client.get(path, rolloutDetail);
  const targets = withTargets
    ? await everyPage((cursor) => client.get(`${path}/targets`, targetPage, { cursor, limit: 1_000 }), 1_000_000)
    : undefined;
  context.show({ ...detail, ...(targets && { targets }) }, () => rolloutText(detail, targets));
}
