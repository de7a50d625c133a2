/**
 * Whether the new collector has every component that it will be asked for: those of the effective configuration, and those
 * without which the supervisor cannot run a collector at all.
 */
import { parse } from "yaml";
import { lackingComponents, needsOf } from "../domain/agents/config-needs.ts";
import { parseComponentList } from "../domain/gitops/component-list.ts";
import { StepError } from "../domain/update/step-error.ts";
import { readForeignFile } from "./files.ts";
import type { Log } from "./host/service.ts";
import type { RunBinary } from "./run-program.ts";

const TIMEOUT_MS = 30_000;
/** The list of a full distribution is some 100 KiB. */
const MAX_LIST_BYTES = 4 * 1024 ** 2;
/** The supervisor speaks with its collector through this one. */
const SUPERVISOR_NEEDS = ["extensions/opamp"];
/** It starts a collector with these when it does not learn of the gate for empty pipelines, which happens now and then. */
const SUPERVISOR_WANTS = ["receivers/nop", "exporters/nop"];

/**
 * What of the effective configuration the list of the new collector's components lacks. A component's old name is not in
 * that list, though a collector still understands it: `validate` has the last word. Throws (class `preflight`) when it lacks
 * what every supervisor needs. A build that does not print its components is not judged, and the log says so.
 */
export async function missingComponents(effectiveConfig: string, run: RunBinary, log: Log): Promise<string[]> {
  const components = await componentsOf(run, log);
  if (components === undefined) return [];
  const missing = lackingComponents(SUPERVISOR_NEEDS, components);
  if (missing.length > 0) throw lacks(missing, "no supervisor can run it");
  const wished = lackingComponents(SUPERVISOR_WANTS, components);
  if (wished.length > 0)
    log.warn({ missing: wished }, "preflight: without these a supervisor starts the new collector only sometimes");
  return lackingComponents(await needs(effectiveConfig, log), components);
}

export const lacks = (missing: readonly string[], remedy: string): StepError =>
  new StepError("preflight", `the new collector lacks ${missing.join(", ")}: ${remedy}`);

async function componentsOf(run: RunBinary, log: Log): Promise<Map<string, string[]> | undefined> {
  const keep = { stream: "stdout", maxBytes: MAX_LIST_BYTES } as const;
  const { code, output } = await run("components", { args: ["components"], timeoutMs: TIMEOUT_MS, keep });
  const read = code === 0 && output.length < MAX_LIST_BYTES ? parseComponentList(output) : undefined;
  if (read?.ok === true) return new Map(Object.entries(read.list));
  log.info({ code, bytes: output.length, problem: read?.message }, "preflight: the components cannot be read");
  return undefined;
}

/** None before the supervisor has written a configuration. */
async function needs(effectiveConfig: string, log: Log): Promise<string[]> {
  const text = (await readForeignFile(effectiveConfig))?.toString("utf8") ?? "";
  try {
    return needsOf(parse(text, { logLevel: "error" })).components;
  } catch (error) {
    log.warn({ error: (error as Error).name }, "preflight: the effective configuration is not valid YAML");
    return []; // what it says is for `validate` to refuse
  }
}
