/** A thread that reads files one after the other: a hostile file can exhaust or hang this thread only. */
import { parentPort } from "node:worker_threads";
import { readFile, type ReadTask } from "../../domain/gitops/file-reading.ts";
import type { ReadMessage } from "./read-files.ts";
import { ownTimeMs } from "./thread-time.ts";

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has no origin
const say = (message: ReadMessage): void => parentPort?.postMessage(message);

parentPort?.on("message", (task: ReadTask) => {
  const reading = readFile(task);
  say({ kind: "reading", reading, computedMs: ownTimeMs() });
});
say({ kind: "ready", computedMs: ownTimeMs() });
