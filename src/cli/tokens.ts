import type { Command } from "commander";
import { apiTokens, createdApiToken, createdEnrollmentToken, enrollmentTokens, revoked } from "../domain/rest/token.ts";
import type { Context } from "./command.ts";
import { UsageError } from "./connection.ts";
import { shortTime, table } from "./print.ts";

type CreateOptions = { role?: string; owner?: string; label?: string[]; expiresAt?: string };

/** `myrctl tokens create|list|revoke api|enrollment`. Needs the role admin. */
export function addTokens(program: Command, context: Context): void {
  const tokens = program
    .command("tokens")
    .description("API tokens of people and automation, enrollment tokens of agents");
  tokens
    .command("create")
    .argument("<kind>", "api or enrollment")
    .argument("<name>")
    .description("create a token; it is shown this once")
    .option("--role <role>", "viewer, operator or admin (api)")
    .option("--owner <name>", "who is accountable (api); default: you")
    .option("--label <key=value...>", "label of the agents that enroll with it (enrollment)")
    .option("--expires-at <time>", "RFC 3339 time from which it is refused")
    .action(async (kind: string, name: string, options: CreateOptions) => create(context, kindOf(kind), name, options));
  tokens
    .command("list")
    .argument("<kind>", "api or enrollment")
    .description("list tokens, without their secrets")
    .action(async (kind: string) => list(context, kindOf(kind)));
  tokens
    .command("revoke")
    .argument("<kind>", "api or enrollment")
    .argument("<id>", "as list shows it")
    .description("refuse a token from now on")
    .action(async (kind: string, id: string) => {
      const client = await context.client();
      const answer = await client.send("DELETE", `/tokens/${kindOf(kind)}/${encodeURIComponent(id)}`, revoked);
      context.show(answer, () => `${answer.name}: ${answer.changed ? "revoked" : "was revoked already"}`);
    });
}

const kindOf = (text: string): "api" | "enrollment" => {
  if (text === "api" || text === "enrollment") return text;
  throw new UsageError(`the kind is api or enrollment, not ${text}`);
};

async function create(
  context: Context,
  kind: "api" | "enrollment",
  name: string,
  options: CreateOptions,
): Promise<void> {
  const { role, owner, label = [], expiresAt } = options;
  if (kind === "api" && role === undefined) throw new UsageError("an API token needs --role viewer, operator or admin");
  const labels = Object.fromEntries(label.map(readLabel));
  const body = kind === "api" ? { name, role, owner, expiresAt } : { name, labels, expiresAt };
  const schema = kind === "api" ? createdApiToken : createdEnrollmentToken;
  const answer = await (await context.client()).send("POST", `/tokens/${kind}`, schema, { body });
  context.show(answer, () => {
    context.io.err(`${kind} token ${answer.name} (${answer.id}); it is shown this once:`);
    return answer.token;
  });
}

function readLabel(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`${text} is no label: write key=value`);
  return [text.slice(0, at), text.slice(at + 1)];
}

async function list(context: Context, kind: "api" | "enrollment"): Promise<void> {
  const client = await context.client();
  if (kind === "enrollment") {
    const { items } = await client.get("/tokens/enrollment", enrollmentTokens);
    const labels = (it: (typeof items)[number]) =>
      Object.entries(it.labels)
        .map((pair) => pair.join("="))
        .join(",");
    return context.show(items, () => table(items, [...COMMON, ["LABELS", labels]], "no enrollment tokens"));
  }
  const { items } = await client.get("/tokens/api", apiTokens);
  type Row = (typeof items)[number];
  const role: [string, (it: Row) => string][] = [
    ["ROLE", (it) => it.role],
    ["OWNER", (it) => it.owner],
  ];
  return context.show(items, () => table<Row>(items, [...COMMON, ...role], "no API tokens"));
}

type CommonRow = {
  id: string;
  name: string;
  createdAt: string;
  createdBy: string;
  expiresAt: string | null;
  revokedAt: string | null;
};
const COMMON: [string, (it: CommonRow) => string][] = [
  ["NAME", (it) => it.name],
  ["ID", (it) => it.id],
  ["CREATED", (it) => `${shortTime(it.createdAt)} by ${it.createdBy}`],
  ["EXPIRES", (it) => shortTime(it.expiresAt)],
  ["REVOKED", (it) => shortTime(it.revokedAt)],
];
