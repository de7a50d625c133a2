/** Runs a command line of myrctl in this process, as its program does. */
import { createJudge, DEFAULT_BUDGET } from "../../src/activities/git-reader/run-validation.ts";
import { runMyrctl } from "../../src/cli/program.ts";

/** One for a whole test file: starting its threads takes longer than judging a small repository. Idle, it keeps nothing alive. */
const judge = createJudge(DEFAULT_BUDGET);
const shared = { ...judge, close: (): Promise<void> => Promise.resolve() };

export type Said = { code: number; out: string; err: string };

export async function myrctl(argv: readonly string[], env: NodeJS.ProcessEnv = {}, isTerminal = false): Promise<Said> {
  const said = { out: "", err: "" };
  const io = {
    out: (text: string) => void (said.out += `${text}\n`),
    err: (text: string) => void (said.err += `${text}\n`),
    isTerminal,
  };
  const code = await runMyrctl(argv, env, io, "1.2.3", () => shared);
  return { code, ...said };
}
