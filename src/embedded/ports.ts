/** Ports of one data folder: chosen once, written down, kept; chosen again only when a stranger holds one. */
import { readFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:net";

export type PortBook = {
  /** The port kept under `name`, free at this moment; the first time `wanted`, if that is free, or any free one. */
  take(name: string, wanted?: number): Promise<number>;
  /** Forgets the port of `name`: something took it between the check and the start. */
  forget(name: string): Promise<void>;
};

/** Opens the book at `file`. Its owner holds the lock of the data folder, so nobody else writes it. */
export async function openPortBook(file: string, log: (line: string) => void): Promise<PortBook> {
  const kept = new Map<string, number>(Object.entries(await readPorts(file)));
  const save = async (): Promise<void> => {
    await writeFile(`${file}.tmp`, `${JSON.stringify(Object.fromEntries(kept), undefined, 2)}\n`, { mode: 0o600 });
    await rename(`${file}.tmp`, file);
  };
  // One after the other: two callers at once must not be given the same port, nor write the file together.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work);
    last = next;
    return next;
  };
  const choose = async (wanted: number | undefined): Promise<number> => {
    if (wanted !== undefined && (await isFree(wanted))) return wanted;
    for (;;) {
      const port = await freePort();
      if (!Array.from(kept.values()).includes(port)) return port;
    }
  };
  return {
    take: (name, wanted) =>
      inTurn(async () => {
        const before = kept.get(name);
        if (before !== undefined && (await isFree(before))) return before;
        const port = await choose(wanted);
        if (before !== undefined)
          log(`port ${before} of ${name} is taken by another program; using ${port} from now on`);
        kept.set(name, port);
        await save();
        return port;
      }),
    forget: (name) =>
      inTurn(async () => {
        kept.delete(name);
        await save();
      }),
  };
}

/** Whether a server could listen on this loopback port now. */
const isFree = (port: number): Promise<boolean> =>
  listenOnce(port).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE" || error.code === "EACCES") return false;
      throw error;
    },
  );

export const freePort = (): Promise<number> => listenOnce(0);

function listenOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      const address = server.address();
      const got = typeof address === "object" && address !== null ? address.port : port;
      server.close(() => resolve(got));
    });
  });
}

async function readPorts(file: string): Promise<Record<string, number>> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) throw new Error(`${file}: not a table of ports; delete it`);
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, number] => Number.isInteger(entry[1])),
  );
}
