import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("../bin/myrctl.ts", import.meta.url));
let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-interrupt-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const COMMANDS = [["validate"], ["diff", "a..b"], ["render", "--fleet", "x", "--diff", "y"]];
test.each(COMMANDS)(
  "Ctrl-C while %s waits for a silent server: git ends, the temporary clone is removed, exit 130",
  async (...command) => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`;
    const program = spawn(process.execPath, [PROGRAM, ...command, "--git", url], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [program.stdout, program.stderr]) stream.on("data", (text: Buffer) => (said += String(text)));
    const ended = once(program, "close");
    try {
      const [socket] = (await once(server, "connection")) as [Socket];
      const closed = once(socket, "close");
      socket.resume();
      expect((await readdir(folder)).filter((name) => name.startsWith("myrctl-"))).toHaveLength(1);
      program.kill("SIGINT");
      expect(await ended).toEqual([130, null]);
      await closed;
      expect(said).toBe("");
      expect(await readdir(folder)).toEqual([]);
    } finally {
      program.kill("SIGKILL");
      server.close();
    }
  },
  60_000,
);
