/** What validate, render and diff share: the verdict on a revision, and how each ends: 0 fine, 1 invalid, 2 could not run. */
import { readFile } from "node:fs/promises";
import type { Judge } from "../activities/git-reader/run-validation.ts";
import { parseComponentList, type ComponentList } from "../domain/gitops/component-list.ts";
import { isBlocking, type Verdict } from "../domain/gitops/validate.ts";
import type { Context } from "./command.ts";
import { UsageError } from "./connection.ts";
import type { Report } from "./formats/report.ts";
import { textOf } from "./formats/text.ts";
import { INTERRUPTED, interruptible } from "./interrupt.ts";
import { CannotRun, type ReadRevision } from "./revision.ts";

const COULD_NOT_RUN = 2;

/** What a command works with: `signal` aborts at Ctrl-C. */
export type Running = { judge: Judge; signal: AbortSignal };

/**
 * Runs a command's work and sets the exit code that it returns. Whatever keeps it from running is a sentence on standard
 * error and exit code 2; Ctrl-C is 130.
 */
export async function judging(context: Context, work: (running: Running) => Promise<number>): Promise<void> {
  let wasInterrupted = false;
  const judge = context.judge();
  try {
    const code = await interruptible((signal) => {
      signal.addEventListener("abort", () => (wasInterrupted = true), { once: true });
      return work({ judge, signal });
    });
    context.exitCode(code);
  } catch (error) {
    if (!wasInterrupted) context.io.err(`myrctl: ${sentenceOf(error)}`);
    context.exitCode(wasInterrupted ? INTERRUPTED : COULD_NOT_RUN);
  } finally {
    await judge.close();
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof CannotRun || error instanceof UsageError) return error.message;
  if (!(error instanceof Error)) return String(error);
  // what the system says names the file: ENOENT: no such file or directory, open 'x'
  return "syscall" in error ? error.message : (error.stack ?? error.message);
}

/** The verdict of the server's own code. */
export function judge(
  { files, limits }: ReadRevision,
  { judge, signal }: Running,
  components?: ComponentList,
): Promise<Verdict> {
  return judge.validate(files, limits, { signal, ...(components !== undefined && { components }) });
}

export const reportOf = (revision: ReadRevision, { issues, objects }: Verdict, strict = false): Report => ({
  revision,
  issues,
  objects: objects.length,
  strict,
});

/** The verdict on a revision that has to be valid; else undefined, with its errors on standard error. */
export async function judgeValid(
  revision: ReadRevision,
  context: Context,
  running: Running,
): Promise<Verdict | undefined> {
  const verdict = await judge(revision, running);
  const errors = verdict.issues.filter(isBlocking);
  if (errors.length === 0) return verdict;
  const report = reportOf(revision, { ...verdict, issues: errors });
  context.io.err(`${textOf(report, context.paint)}\n\nmyrctl: ${revision.label} is invalid: nothing can be rendered`);
  return undefined;
}

/** The list of `--components FILE`. Throws CannotRun. */
export async function readComponents(file: string): Promise<ComponentList> {
  const result = parseComponentList(await readFile(file, "utf8"));
  if (!result.ok) throw new CannotRun(`${file} is no list of components: ${result.message}`);
  return result.list;
}
