/** The reference library as a process (test/interop/peers/reference), and the JSON lines that it says. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** Messages are protojson: absent fields are zero values, bytes are base64. */
export type Said = { ev: string; msg?: Record<string, unknown>; text?: string } & Record<string, unknown>;

export type ReferencePeer = {
  said: readonly Said[];
  /** What was said under this name so far. */
  heard(event: string): Said[];
  /** Ends it as its user would; resolves with its exit code. */
  stop(): Promise<number | null>;
};

/** Starts it with these arguments. It ends with `stop`; whoever forgets it is told by the process list. */
export async function startReference(program: string, args: readonly string[]): Promise<ReferencePeer> {
  const child: ChildProcess = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child, "spawn");
  const said: Said[] = [];
  if (child.stdout === null) throw new Error("no output to read");
  createInterface(child.stdout).on("line", (line) => void said.push(JSON.parse(line) as Said));
  return {
    said,
    heard: (event) => said.filter(({ ev }) => ev === event),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const exited = once(child, "exit");
      child.kill("SIGINT");
      const [code] = (await exited) as [number | null];
      return code;
    },
  };
}
