/** Global set-up of the integration tests: real PostgreSQL and Temporal in a folder of this run, ended and removed after. */
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { processStart } from "../../src/embedded/lock-file.mjs";
import { startServices } from "../../src/embedded/services.ts";

declare module "vitest" {
  interface ProvidedContext {
    databaseUrl: string;
    temporalAddress: string;
    temporalUiUrl: string;
  }
}

const PREFIX = "myriarch-test-";

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeLeftovers();
  const dataDir = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
  await chmod(dataDir, 0o711); // the database's account passes through
  const services = await startServices({
    dataDir,
    log: (line) => console.error(line),
    env: {}, // never the servers that somebody's DATABASE_URL and TEMPORAL_ADDRESS name
    // Tests kill processes, not machines: what was written stays in the page cache.
    postgresSettings: { fsync: "off" },
  });
  project.provide("databaseUrl", services.databaseUrl);
  project.provide("temporalAddress", services.temporalAddress);
  project.provide("temporalUiUrl", services.temporalUiUrl ?? "");
  return async () => {
    await services.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}

/** Folders of runs that were killed: their servers ended with them, their files stayed. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (Number.isInteger(pid) && processStart(pid) === undefined)
      await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
}
