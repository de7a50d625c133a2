/**
 * On which saved remote configurations upstream's supervisor starts. The host program refuses to stop a supervisor that
 * could not start again, and judges that by itself: its verdicts are held against the real one.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { openSync, closeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { freePort } from "../../src/embedded/ports.ts";
import { listProcesses } from "../../src/updater/host/processes.ts";
import { savedConfigProblem } from "../../src/updater/saved-config.ts";
import { eventually } from "../support/opamp.ts";
import { OLD, openPeers, skipPeers, type Peers } from "../support/peers.ts";
import { SAVED_BODIES, savedRemoteConfig } from "../support/saved-config.ts";

describe.skipIf(skipPeers() !== undefined)("the real supervisor", () => {
  let peers: Peers;
  let root: string;
  beforeAll(async () => {
    peers = await openPeers();
    root = await mkdtemp(join(tmpdir(), "myriarch-saved-"));
  });
  afterAll(async () => {
    if (root !== undefined) await rm(root, { recursive: true, force: true });
  });

  /** Starts it on a storage folder; resolves with whether it came up, or what it said when it ended. */
  async function startOn(storage: string): Promise<string> {
    const port = await freePort();
    const config = {
      server: { endpoint: "ws://127.0.0.1:1/v1/opamp" }, // nobody there: it starts all the same
      capabilities: { accepts_remote_config: true, reports_remote_config: true },
      storage: { directory: storage },
      agent: {
        executable: peers.collector(OLD),
        args: ["--set=service.telemetry.metrics.level=none"],
        bootstrap_timeout: "30s",
      },
      healthcheck: { endpoint: `127.0.0.1:${port}` },
    };
    await writeFile(join(storage, "supervisor.yaml"), stringify(config));
    const log = openSync(join(storage, "log"), "w");
    const child = spawn(peers.supervisor, ["--config", join(storage, "supervisor.yaml")], {
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    const exited = once(child, "exit");
    const isUp = () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        (it) => it.status === 200,
        () => false,
      );
    const came = await eventually(
      "it starts or ends",
      async () => (child.exitCode === null ? ((await isUp()) ? "starts" : undefined) : "ended"),
      120_000,
    );
    child.kill("SIGINT");
    await exited;
    for (const { pid, args } of await listProcesses())
      if (args.some((word) => word.startsWith(`${storage}/`))) process.kill(pid, "SIGKILL");
    return came === "starts" ? came : await readFile(join(storage, "log"), "utf8");
  }

  it.each(SAVED_BODIES)(
    "judges a saved configuration with %s as the host program does",
    async (name, body, problem) => {
      const storage = join(root, name.replaceAll(/\W+/g, "-"));
      await mkdir(storage);
      const file = join(storage, "last_recv_remote_config.dat");
      await writeFile(file, savedRemoteConfig("extensions: {}\n", body));
      expect(await savedConfigProblem(file)).toBe(problem);
      const came = await startOn(storage);
      if (problem === undefined) expect(came).toBe("starts");
      else expect(came).toContain("failed loading initial config");
    },
  );
});
