/** The worker thread in which a revision is judged: a hostile file can exhaust or hang this thread only. */
import { parentPort, workerData } from "node:worker_threads";
import type { Limits, RepositoryFile } from "../../domain/gitops/repository-files.ts";
import { validateRevision } from "../../domain/gitops/validate.ts";
import type { ThreadMessage } from "./run-validation.ts";

const { files, limits } = workerData as { files: RepositoryFile[]; limits: Limits };
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has no origin
const say = (message: ThreadMessage): void => parentPort?.postMessage(message);

const verdict = validateRevision(files, limits, { onFile: (file) => say({ kind: "file", file }) });
say({ kind: "verdict", verdict });
