import type { Command } from "commander";
import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod";
import { ERRORS } from "../domain/errors.ts";
import { releaseDeleted } from "../domain/rest/release.ts";
import { upload, uploaded, uploadFile } from "../domain/rest/upload.ts";
import { ApiProblem, NoAnswer, type Client } from "./client.ts";
import type { Context } from "./command.ts";
import { readReleaseFolder, type ReleaseFolder } from "./upload-folder.ts";

type Standing = z.output<typeof uploadFile>;
type Report = (line: string) => void;

/** A cut costs at most one of these; proxies in front of the server have to pass them. */
const PIECE_BYTES = 8 * 1024 ** 2;
const PIECE_TIMEOUT_MS = 10 * 60_000;
/** In a row and without a byte of progress. */
const TRIES = 6;
const FIRST_WAIT_MS = 500;

/** `myrctl artifacts upload|delete`; `artifacts` is there already, or made. */
export function addUpload(program: Command, context: Context): void {
  const artifacts = program.commands.find((it) => it.name() === "artifacts") ?? program.command("artifacts");
  artifacts
    .command("upload")
    .argument("<folder>", "archives of one version, each with its .sha256 and .sigstore.json beside it")
    .option("--distribution <name>", "take only this distribution of the folder")
    .description("bring a release in from a folder; a cut upload goes on where it was when it is repeated")
    .action(async (folder: string, { distribution }: { distribution?: string }) => {
      const release = await readReleaseFolder(folder, distribution);
      const answer = await send(await context.client(), folder, release, context.io.err);
      context.show(answer, () => {
        const what = `${answer.distribution} ${answer.version}: ${release.files.length} archives`;
        return answer.changed
          ? `${what} verified and staged; depots copy them now (myrctl artifacts list)`
          : `${what} were known already; their bytes were staged again`;
      });
    });
  addDelete(artifacts, context);
}

function addDelete(artifacts: Command, context: Context): void {
  artifacts
    .command("delete")
    .argument("<distribution>", "for example otelcol-contrib")
    .argument("<version>", "for example 0.162.0")
    .requiredOption("--reason <text>", "for the audit log, and for whoever wonders why")
    .description("remove a release from the depots; refused while anything needs it")
    .action(async (distribution: string, version: string, { reason }: { reason: string }) => {
      const path = `/releases/${encodeURIComponent(distribution)}/${encodeURIComponent(version)}`;
      const answer = await (await context.client()).send("DELETE", path, releaseDeleted, { body: { reason } });
      context.show(answer, () => {
        const what = `${answer.distribution} ${answer.version}`;
        return answer.changed
          ? `${what} deleted; depots remove ${answer.archives} archives after their grace time`
          : `${what} was deleted already`;
      });
    });
}

/** The whole folder is a release afterwards. What a retry mends is tried again, from what the server has. */
async function send(
  client: Client,
  folder: string,
  release: ReleaseFolder,
  report: Report,
): Promise<z.output<typeof uploaded>> {
  let best = -1;
  for (let tries = 1, waitMs = FIRST_WAIT_MS; ; tries++, waitMs *= 2) {
    try {
      return await sendOnce(client, folder, release, (received, line) => {
        if (received > best) [best, tries, waitMs] = [received, 0, FIRST_WAIT_MS];
        if (line !== undefined) report(line);
      });
    } catch (error) {
      if (tries >= TRIES || !isWorthATry(error)) throw error;
      report(`${(error as Error).message}; trying again`);
      await delay(waitMs);
    }
  }
}

/** No answer, or one of which the catalogue says that trying again may mend it. */
function isWorthATry(error: unknown): boolean {
  if (error instanceof NoAnswer) return true;
  if (!(error instanceof ApiProblem)) return false;
  const { code, status } = error.problem;
  const known = Object.hasOwn(ERRORS, code) ? ERRORS[code as keyof typeof ERRORS].handling : undefined;
  // wrong bytes here are not ours: our own were hashed before
  return known === "retry" || code === "digest_mismatch" || (known === undefined && status >= 500);
}

async function sendOnce(
  client: Client,
  folder: string,
  { distribution, version, files }: ReleaseFolder,
  progress: (received: number, line?: string) => void,
): Promise<z.output<typeof uploaded>> {
  const described = files.map(({ fileName, sizeBytes, checksum, bundle }) => ({
    fileName,
    sizeBytes,
    checksum,
    bundle,
  }));
  const opened = await client.send("POST", "/releases", upload, {
    body: { distribution, version, files: described },
  });
  let received = opened.files.reduce((sum, file) => sum + file.received, 0);
  for (const file of opened.files) {
    if (file.staged) continue;
    const handle = await open(join(folder, file.fileName), "r");
    try {
      for await (const now of pieces(client, opened.id, file, handle)) {
        received += now.received - file.received;
        const said = tenth(now) > tenth(file) || now.staged;
        progress(received, said ? lineOf(now) : undefined);
        Object.assign(file, now);
      }
    } finally {
      await handle.close();
    }
  }
  return client.send("POST", `/uploads/${opened.id}/finish`, uploaded);
}

/** Sends an archive from where the server is to its end; what the server has after each piece. */
async function* pieces(client: Client, id: string, from: Standing, file: FileHandle): AsyncGenerator<Standing> {
  const path = `/uploads/${id}/${encodeURIComponent(from.fileName)}`;
  const block = Buffer.alloc(Math.min(PIECE_BYTES, from.sizeBytes));
  for (let { received, staged } = from; !staged;) {
    const { bytesRead } = await file.read(block, 0, block.length, received);
    const bytes = block.subarray(0, bytesRead);
    const now = await client.put(path, uploadFile, { query: { offset: received }, bytes, timeoutMs: PIECE_TIMEOUT_MS });
    if (bytesRead === 0 && !now.staged) throw new Error(`${from.fileName} became shorter while it was sent`);
    ({ received, staged } = now);
    yield now;
  }
}

const tenth = ({ received, sizeBytes }: Standing): number => Math.floor((received / sizeBytes) * 10);
const mib = (bytes: number): string => (bytes / 1024 ** 2).toFixed(1);
const lineOf = ({ fileName, received, sizeBytes, staged }: Standing): string =>
  staged
    ? `${fileName}: ${mib(sizeBytes)} MiB, verified and staged`
    : `${fileName}: ${mib(received)} of ${mib(sizeBytes)} MiB (${Math.floor((received / sizeBytes) * 100)} %)`;
