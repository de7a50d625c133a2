/** What every command needs: the client (made when it is asked for), the way to print, and whether as JSON. */
import type { Command } from "commander";
import { createClient, type Client } from "./client.ts";
import { findConnection, type ConnectionOptions } from "./connection.ts";
import type { Judge } from "../activities/git-reader/run-validation.ts";
import type { Output } from "./print.ts";
import { paintFor, type Paint } from "./terminal.ts";

export type Context = {
  client: () => Promise<Client>;
  io: Output;
  /** What judges revisions; whoever asks for one closes it. */
  judge: () => Judge;
  /** Colours, where they are welcome. */
  paint: Paint;
  /** Of myrctl. */
  version: string;
  /** How the reader calls this program. */
  self: string;
  /** Prints `value` as JSON with `--json`, else `text`. */
  show: (value: unknown, text: () => string) => void;
  exitCode: (code: number) => void;
};

type Globals = ConnectionOptions & { json?: boolean };

/** The context of a command: its options stand at the program. */
export function contextOf(
  program: Command,
  env: NodeJS.ProcessEnv,
  io: Output,
  judge: () => Judge,
  exitCode: (code: number) => void,
): Context {
  return {
    io,
    judge,
    exitCode,
    paint: paintFor(env, io.isTerminal === true),
    version: program.version() ?? "",
    self: env["npm_command"] === "exec" ? "npx myrctl" : "myrctl",
    client: async () => createClient(await findConnection(program.opts<Globals>(), env)),
    show: (value, text) => io.out(program.opts<Globals>().json === true ? JSON.stringify(value, null, 2) : text()),
  };
}

/** Reads a whole number within its bounds, or names what was wrong. */
export const wholeNumber = (text: string, min: number, max: number): number | undefined => {
  const number = Number(text);
  return /^\d+$/.test(text) && number >= min && number <= max ? number : undefined;
};
