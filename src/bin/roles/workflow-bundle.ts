/**
 * The workflows as one bundle, kept by what it was made from: a worker starts five times faster with it, and a bundle of
 * other sources, or of another SDK, is never loaded.
 */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleWorkflowCode, type WorkflowBundleWithSourceMap } from "@temporalio/worker";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Whatever a workflow may load: see the arrows. */
const SOURCES = ["src/workflows", "src/domain"];

type Log = { info(fields: object, message: string): void; warn(fields: object, message: string): void };

/** The bundle of today's sources: from the folder `build`, or made now and kept there where that is possible. */
export async function workflowBundle(log: Log): Promise<{ codePath: string } | WorkflowBundleWithSourceMap> {
  const codePath = join(ROOT, "build", `workflows-${await sourcesHash()}.js`);
  if ((await stat(codePath).catch(ifAbsent)) !== undefined) return { codePath };
  const bundle = await bundleWorkflowCode({ workflowsPath: join(ROOT, "src/workflows/index.ts") });
  try {
    await mkdir(join(ROOT, "build"), { recursive: true });
    await writeFile(`${codePath}.${process.pid}`, bundle.code);
    await rename(`${codePath}.${process.pid}`, codePath);
    log.info({ codePath }, "workflow bundle kept");
  } catch (err) {
    log.warn({ err }, "the workflow bundle cannot be kept; the next start makes it again");
  }
  return bundle;
}

async function sourcesHash(): Promise<string> {
  const hash = createHash("sha256");
  const require = createRequire(import.meta.url);
  hash.update((require("@temporalio/worker/package.json") as { version: string }).version);
  for (const folder of SOURCES) {
    const entries = await readdir(join(ROOT, folder), { recursive: true });
    for (const name of entries.filter((entry) => entry.endsWith(".ts") && !entry.endsWith(".test.ts")).toSorted())
      hash.update(`\0${folder}/${name}\0`).update(await readFile(join(ROOT, folder, name)));
  }
  return hash.digest("hex").slice(0, 16);
}

const ifAbsent = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== "ENOENT") throw error;
};
