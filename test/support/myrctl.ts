/** Runs a command line of myrctl in this process, as its program does. */
import { runMyrctl } from "../../src/cli/program.ts";

export type Said = { code: number; out: string; err: string };

export async function myrctl(argv: readonly string[], env: NodeJS.ProcessEnv = {}, isTerminal = false): Promise<Said> {
  const said = { out: "", err: "" };
  const io = {
    out: (text: string) => void (said.out += `${text}\n`),
    err: (text: string) => void (said.err += `${text}\n`),
    isTerminal,
  };
  const code = await runMyrctl(argv, env, io, "1.2.3");
  return { code, ...said };
}
