/** The server of the quickstart: its configuration, and its processes. */
import { join } from "node:path";
import { programPath, startProgram, type Program } from "../program.ts";
import { keptSecret, writeFileWhole, writeYaml } from "./files.ts";

export type ServerOptions = {
  dataDir: string;
  port: number;
  metricsPort: number;
  databaseUrl: string;
  temporalAddress: string;
  temporalUiUrl: string | undefined;
  gitUrl: string;
  webhookSecretFile: string;
  mirror: string;
  trustedRootFile: string;
  depots: { controlTokenFile: string; readTokenFile: string };
};

export type DemoServer = { url: string; configFile: string; start(): Promise<Program> };

/** Three Node processes on a machine that may be busy. */
const READY_MS = 180_000;

/** Writes the configuration; nothing is started yet. */
export async function prepareServer(options: ServerOptions): Promise<DemoServer> {
  const folder = join(options.dataDir, "server");
  const url = `http://127.0.0.1:${options.port}`;
  const keyFile = join(folder, "key");
  await keptSecret(keyFile);
  await keptSecret(options.webhookSecretFile);
  const urlFile = join(folder, "database-url");
  // Written at each start: the port may have changed.
  await writeFileWhole(urlFile, `${options.databaseUrl}\n`, 0o600);
  const configFile = join(folder, "server.yaml");
  await writeYaml(configFile, {
    mode: "development",
    server: { listen: `127.0.0.1:${options.port}`, publicUrl: url },
    secrets: { keyFile },
    gitops: {
      url: options.gitUrl,
      pollInterval: "2s",
      cloneDir: join(folder, "clone"),
      webhookSecretFile: options.webhookSecretFile,
    },
    artifacts: {
      sourceBaseUrl: `file://${options.mirror}`,
      trustedRootFile: options.trustedRootFile,
      stagingDir: join(folder, "staging"),
    },
    // what examples/quickstart names; its executors serve fleets that have no hosts in the demo
    executors: {
      secrets: [
        { file: "awx-token", urlPrefixes: ["https://awx.example.com/"] },
        { env: "DEPLOY_HOOK_SECRET", urlPrefixes: ["https://deploy.example.com/"] },
      ],
    },
    depots: options.depots,
    database: { urlFile },
    temporal: { address: options.temporalAddress, ...(options.temporalUiUrl && { uiUrl: options.temporalUiUrl }) },
    telemetry: { metricsListen: `127.0.0.1:${options.metricsPort}` },
  });
  return {
    url,
    configFile,
    start: () =>
      startProgram({
        name: "myriarchd",
        script: programPath("myriarchd"),
        args: ["--config", configFile],
        dataDir: options.dataDir,
        readyMs: READY_MS,
      }),
  };
}
