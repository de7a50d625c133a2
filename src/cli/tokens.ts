import type { Command } from "commander";
import { snippetScript, withToken } from "../domain/agents/enrolment-snippet.ts";
import {
  apiTokens,
  certificateChanged,
  createdApiToken,
  createdEnrollmentToken,
  deniedCertificates,
  enrolmentSnippet,
  enrollmentTokens,
  revoked,
} from "../domain/rest/token.ts";
import type { Context } from "./command.ts";
import { UsageError } from "./connection.ts";
import { shortTime, table } from "./print.ts";

type CreateOptions = {
  role?: string;
  owner?: string;
  label?: string[];
  expiresAt?: string;
  snippet?: boolean;
  transport?: string;
};

/** `myrctl tokens create|list|revoke api|enrollment`, and what becomes of agents' credentials. Needs the role admin. */
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
    .option("--snippet", "print a script that writes the configuration of a host's supervisor and updater (enrollment)")
    .option("--transport <transport>", "of the supervisor in the snippet: websocket (default) or http")
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
  addRotate(tokens, context);
  addCertificates(tokens, context);
}

function addRotate(tokens: Command, context: Context): void {
  tokens
    .command("rotate")
    .argument("<name>", "of an enrollment token, or its id")
    .description("make its successor: agents of the old token may come with the new one and keep their identity")
    .option("--name <name>", "of the successor; default: the name with the next number")
    .option("--ends-at <time>", "RFC 3339 time from which the old token is refused; without it: revoke it yourself")
    .action(async (name: string, options: { name?: string; endsAt?: string }) => {
      const client = await context.client();
      const { items } = await client.get("/tokens/enrollment", enrollmentTokens);
      const old = items.find((it) => it.name === name || it.id === name);
      if (old === undefined) throw new UsageError(`there is no enrollment token ${name}`);
      const path = `/tokens/enrollment/${encodeURIComponent(old.id)}/rotate`;
      const answer = await client.send("POST", path, createdEnrollmentToken, { body: options });
      context.show(answer, () => {
        const until = options.endsAt === undefined ? "stays valid until it is revoked" : `ends at ${options.endsAt}`;
        context.io.err(`${answer.name} (${answer.id}) succeeds ${old.name}, which ${until}; it is shown this once:`);
        return answer.token;
      });
    });
}

/** Client certificates are nobody's to list: only those that were denied are known by name. */
function addCertificates(tokens: Command, context: Context): void {
  tokens
    .command("certificates")
    .description("list denied client certificates")
    .action(async () => {
      const { items } = await (await context.client()).get("/tokens/certificates", deniedCertificates);
      type Row = (typeof items)[number];
      const columns: [string, (it: Row) => string][] = [
        ["SUBJECT", (it) => it.subject],
        ["DENIED", (it) => `${shortTime(it.deniedAt)} by ${it.deniedBy}`],
        ["REASON", (it) => it.reason],
      ];
      context.show(items, () => table(items, columns, "no denied certificates"));
    });
  tokens
    .command("deny-certificate")
    .argument("<subject>", "common name of the certificate, or its first alternative name")
    .requiredOption("--reason <text>", "why; it is audited")
    .description("refuse client certificates of this subject from now on")
    .action(async (subject: string, { reason }: { reason: string }) => {
      const body = { subject, reason };
      const client = await context.client();
      const answer = await client.send("POST", "/tokens/certificates", certificateChanged, { body });
      context.show(answer, () => `${subject}: ${answer.changed ? "denied" : "was denied already"}`);
    });
  tokens
    .command("allow-certificate")
    .argument("<subject>", "as certificates shows it")
    .description("let client certificates of this subject count again")
    .action(async (subject: string) => {
      const path = `/tokens/certificates/${encodeURIComponent(subject)}`;
      const answer = await (await context.client()).send("DELETE", path, certificateChanged);
      context.show(answer, () => `${subject}: ${answer.changed ? "allowed again" : "was not denied"}`);
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
  if (options.snippet === true && kind === "api") throw new UsageError("--snippet belongs to an enrollment token");
  const labels = Object.fromEntries(label.map(readLabel));
  const body = kind === "api" ? { name, role, owner, expiresAt } : { name, labels, expiresAt };
  const schema = kind === "api" ? createdApiToken : createdEnrollmentToken;
  const client = await context.client();
  // Asked before the token is made: a snippet that cannot be had leaves no token behind.
  const snippet =
    options.snippet === true
      ? await client.get("/tokens/enrollment/snippet", enrolmentSnippet, { transport: options.transport })
      : undefined;
  const answer = await client.send("POST", `/tokens/${kind}`, schema, { body });
  if (snippet !== undefined) {
    const filled = withToken(snippet, answer.token);
    context.io.err(`enrollment token ${answer.name} (${answer.id}) is in this script, which is shown this once:`);
    return context.show({ ...answer, snippet: filled }, () => snippetScript(filled));
  }
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
    type Row = (typeof items)[number];
    const own: [string, (it: Row) => string][] = [
      ["SUCCEEDS", (it) => it.successorOf ?? "-"],
      ["LABELS", labels],
    ];
    return context.show(items, () => table<Row>(items, [...COMMON, ...own], "no enrollment tokens"));
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
