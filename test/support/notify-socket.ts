/** A receiver of systemd's notifications: a real datagram socket, which Node cannot open, in Python. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export type Notification = { text: string; pid: number | null };

/** Which of the two programs is absent; the tests are skipped then, and say so. */
export const absentNotifyTool = (): string | undefined =>
  ["systemd-notify", "python3"].find((tool) => spawnSync(tool, ["--version"]).error !== undefined);

/** Ends with `close`, or by itself when we do not read any more. */
export async function openNotifySocket() {
  const folder = mkdtempSync(join(tmpdir(), "notify-"));
  const path = join(folder, "socket");
  const script = join(import.meta.dirname, "notify-socket.py");
  const child = spawn("python3", [script, path], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async (): Promise<Notification> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error("the receiver ended");
    return JSON.parse(value) as Notification;
  };
  await next(); // it listens
  return {
    path,
    next,
    /** The next message that does something: `BARRIER=1` only asks whether those before it were read. */
    nextState: async (): Promise<Notification> => {
      for (;;) {
        const got = await next();
        if (got.text !== "BARRIER=1") return got;
      }
    },
    close: () => {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
export type NotifySocket = Awaited<ReturnType<typeof openNotifySocket>>;
