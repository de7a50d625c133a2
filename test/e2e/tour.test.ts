/** The quickstart's scripted tour as a user starts it: our own programs as processes, every fact checked from outside. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const QUICKSTART = fileURLToPath(new URL("../../src/embedded/quickstart.ts", import.meta.url));
const LIMIT_MS = 12 * 60_000;

test(
  "npm run quickstart -- --once: one commit after the other updates real hosts, and every fact holds",
  async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "myriarch-tour-"));
    const tour = spawn(process.execPath, [QUICKSTART, "--once"], {
      // The tour's servers are its own, whatever this shell points at.
      env: { ...process.env, MYRIARCH_DATA: dataDir, DATABASE_URL: "", TEMPORAL_ADDRESS: "" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [tour.stdout, tour.stderr])
      stream.on("data", (piece: Buffer) => {
        said += piece.toString();
        process.stderr.write(piece);
      });
    const code = await new Promise<number | null>((resolve) => tour.once("exit", resolve));
    expect(code, said.slice(-4_000)).toBe(0);
    expect(said).toContain("every fact was checked from outside");
    await rm(dataDir, { recursive: true, force: true });
  },
  LIMIT_MS,
);
