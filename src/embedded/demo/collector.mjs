#!/usr/bin/env node
/*
 * Demo collector: stands in for otelcol-contrib on demo hosts. It answers --version, validates a configuration and serves
 * the health endpoint that the configuration names. One file without dependencies; Node 20 or newer. It runs as a module
 * and as a script, because a file without ending is either, depending on the folder above it: hence no import and no
 * require at the top.
 */
const NAME = "otelcol-contrib";
const VERSION = "@VERSION@";
const PLATFORM = "@PLATFORM@";
/** How many health checks are answered 200 before all others are answered 503; empty: all are answered 200. */
const HEALTHY_ANSWERS = "@HEALTHY_ANSWERS@";

class Invalid extends Error {}

async function main() {
  const [command, ...rest] = process.argv.slice(2);
  if (command === "--version" || command === "-v") process.stdout.write(`${NAME} version ${VERSION}\n`);
  else if (command === "validate") await load(rest);
  else if (command === undefined || command.startsWith("--")) await run(await load(process.argv.slice(2)));
  else throw new Invalid(`unknown command "${command}" for "${NAME}"`);
}

async function load(args) {
  const files = [];
  for (let at = 0; at < args.length; at += 1) {
    if (args[at] === "--config") files.push(args[(at += 1)]);
    else if (args[at].startsWith("--config=")) files.push(args[at].slice("--config=".length));
    else if (args[at] === "--set") at += 1; // it has no metrics of its own that could be placed
    else if (!/^--(?:feature-gates|set=)/.test(args[at])) throw new Invalid(`unknown flag: ${args[at]}`);
  }
  if (files.length !== 1 || files[0] === undefined) throw new Invalid("at least one config flag must be provided");
  const { readFile } = await import("node:fs/promises");
  const text = await readFile(files[0], "utf8").catch((error) => {
    throw new Invalid(`cannot read the configuration: ${error.code}`);
  });
  const config = readConfig(expand(text));
  check(config);
  return config;
}

/** `${env:NAME}` and `${env:NAME:-otherwise}` as the collector expands them; an unset variable is empty. */
function expand(text) {
  return text.replaceAll(
    /\$\{env:([A-Za-z_]\w*)(?::-([^}]*))?\}/g,
    (_, name, otherwise) => process.env[name] ?? otherwise ?? "",
  );
}

// ---- YAML as far as configurations of collectors use it: block mappings, lists, scalars, flow lists of scalars

function readConfig(text) {
  const rows = text.split(/\r?\n/).map((line, index) => ({
    number: index + 1,
    indent: line.search(/\S|$/),
    text: line
      .slice(
        0,
        outsideQuotes(line, (at) => line[at] === "#" && /^$|\s/.test(line[at - 1] ?? "")),
      )
      .trim(),
    tab: /^ *\t/.test(line),
  }));
  const reader = { rows: rows.filter((row) => row.text !== "" && row.text !== "---"), at: 0 };
  const tab = reader.rows.find((row) => row.tab);
  if (tab !== undefined) fail(tab, "found character that cannot start any token");
  const value = reader.rows.length === 0 ? undefined : readBlock(reader, reader.rows[0].indent);
  const rest = reader.rows[reader.at];
  if (rest !== undefined) fail(rest, "did not find expected key");
  return value;
}

function fail(row, what) {
  throw new Invalid(`yaml: line ${row.number}: ${what}`);
}

/** First index outside quotes for which `found` holds; the length of the line when there is none. */
function outsideQuotes(line, found) {
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at];
    if (quote !== "") quote = char === quote ? "" : quote;
    else if ((char === '"' || char === "'") && !/\w/.test(line[at - 1] ?? "")) quote = char;
    else if (found(at)) return at;
  }
  return line.length;
}

const isItem = (row) => row.text === "-" || row.text.startsWith("- ");

function readBlock(reader, indent) {
  if (isItem(reader.rows[reader.at])) return readList(reader, indent);
  const mapping = new Map();
  for (let row = reader.rows[reader.at]; row?.indent === indent && !isItem(row); row = reader.rows[reader.at]) {
    const colon = outsideQuotes(row.text, (at) => row.text[at] === ":" && /^$|\s/.test(row.text[at + 1] ?? ""));
    if (colon === row.text.length) fail(row, "could not find expected ':'");
    const key = unquote(row.text.slice(0, colon).trim());
    if (mapping.has(key)) fail(row, `mapping key "${key}" already defined`);
    reader.at += 1;
    mapping.set(key, readValue(reader, indent, row.text.slice(colon + 1).trim()));
  }
  return mapping;
}

function readValue(reader, indent, text) {
  const next = reader.rows[reader.at];
  const deeper = next !== undefined && (next.indent > indent || (next.indent === indent && isItem(next)));
  if (text === "") return deeper ? readBlock(reader, next.indent) : undefined;
  if (/^[|>]/.test(text)) {
    const from = reader.at;
    skipDeeper(reader, indent);
    return reader.rows
      .slice(from, reader.at)
      .map((row) => row.text)
      .join("\n");
  }
  if (text === "{}" || text === "null" || text === "~") return undefined;
  if (/^\[.*\]$/.test(text))
    return text
      .slice(1, -1)
      .split(",")
      .map((item) => unquote(item.trim()))
      .filter(Boolean);
  return unquote(text);
}

/** Items that are more than a scalar only count. */
function readList(reader, indent) {
  const items = [];
  for (let row = reader.rows[reader.at]; row?.indent === indent && isItem(row); row = reader.rows[reader.at]) {
    reader.at += 1;
    items.push(unquote(row.text.slice(1).trim()));
    skipDeeper(reader, indent);
  }
  return items;
}

function skipDeeper(reader, indent) {
  while ((reader.rows[reader.at]?.indent ?? -1) > indent) reader.at += 1;
}

function unquote(text) {
  return /^(["']).*\1$/.test(text) ? text.slice(1, -1) : text;
}

// ---- what a configuration needs

const asMap = (value) => (value instanceof Map ? value : new Map());
const asList = (value) => (Array.isArray(value) ? value : []);

function check(config) {
  if (!(config instanceof Map)) throw new Invalid("the configuration must be a mapping that is not empty");
  const known = ["receivers", "processors", "exporters", "connectors", "extensions", "service"];
  for (const key of config.keys()) if (!known.includes(key)) throw new Invalid(`'' has invalid keys: ${key}`);
  for (const section of ["receivers", "exporters"])
    if (asMap(config.get(section)).size === 0) throw new Invalid(`no ${section.slice(0, -1)} configuration specified`);
  const service = asMap(config.get("service"));
  const pipelines = asMap(service.get("pipelines"));
  if (pipelines.size === 0) throw new Invalid("service::pipelines: service must have at least one pipeline");
  const defined = (section) =>
    new Set([...asMap(config.get(section)).keys(), ...asMap(config.get("connectors")).keys()]);
  for (const [name, pipeline] of pipelines)
    for (const section of ["receivers", "processors", "exporters"]) {
      const used = asList(asMap(pipeline).get(section));
      if (used.length === 0 && section !== "processors")
        throw new Invalid(`service::pipelines::${name}: must have at least one ${section.slice(0, -1)}`);
      const missing = used.find((id) => !defined(section).has(id));
      if (missing !== undefined)
        throw new Invalid(
          `service::pipelines::${name}: references ${section.slice(0, -1)} "${missing}" which is not configured`,
        );
    }
  const extension = asList(service.get("extensions")).find((id) => !asMap(config.get("extensions")).has(id));
  if (extension !== undefined)
    throw new Invalid(`service::extensions: references extension "${extension}" which is not configured`);
}

/** Host and port of the health endpoint; undefined when the service does not use the extension. */
function healthEndpoint(config) {
  const used = asList(asMap(config.get("service")).get("extensions"));
  if (!used.includes("health_check")) return undefined;
  const endpoint = asMap(asMap(config.get("extensions")).get("health_check")).get("endpoint") ?? "localhost:13133";
  const [, host, port] = /^\[?([^\]]*)\]?:(\d+)$/.exec(endpoint) ?? [];
  if (port === undefined || Number(port) > 65_535)
    throw new Invalid(`extensions::health_check: invalid endpoint "${endpoint}"`);
  return { host: host === "" ? "0.0.0.0" : host, port: Number(port) };
}

// ---- running

function log(level, msg, fields = {}) {
  process.stderr.write(`${JSON.stringify({ level, ts: new Date().toISOString(), msg, ...fields })}\n`);
}

async function run(config) {
  const endpoint = healthEndpoint(config);
  log("info", `Starting ${NAME}...`, { Version: VERSION, platform: PLATFORM, pid: process.pid });
  const server = endpoint === undefined ? undefined : await serveHealth(endpoint);
  // Without a server nothing would keep the process running.
  const idle = setInterval(() => {}, 2 ** 30);
  const stop = (signal) => {
    log("info", "Received signal from OS", { signal });
    clearInterval(idle);
    server?.close();
    server?.closeAllConnections();
    log("info", "Shutdown complete.");
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  log("info", "Everything is ready. Begin running and processing data.", {
    version: VERSION,
    pid: process.pid,
    health: endpoint,
  });
}

async function serveHealth({ host, port }) {
  const http = await import("node:http");
  const upSince = new Date().toISOString();
  let answered = 0;
  const server = http.createServer((_, response) => {
    const healthy = HEALTHY_ANSWERS === "" || answered < Number(HEALTHY_ANSWERS);
    answered += 1;
    response.writeHead(healthy ? 200 : 503, { "content-type": "application/json" });
    response.end(
      JSON.stringify({ status: healthy ? "Server available" : "Server not available", upSince, pid: process.pid }),
    );
  });
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return server;
}

main().catch((error) => {
  process.stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
