/**
 * What an update does with an archive before it unpacks it, download into the spool, hash, verify, against `curl` into
 * `sha256sum`, which neither stores nor verifies anything. Both take the same file from the same server, a process of its
 * own on loopback, by turns; the first round of both only warms up.
 */
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CONTRACT_DEFAULTS } from "../src/domain/brand.ts";
import { openSigningAuthority } from "../src/signing/authority.ts";
import { systemClock } from "../src/updater/clock.ts";
import { signatureRule } from "../src/updater/compose.ts";
import { createDownloader } from "../src/updater/download.ts";
import { systemFiles } from "../src/updater/files.ts";
import { hashFile } from "../src/verify/hash-file.ts";
import { atLeastTimes } from "./report.ts";

type Taken = { wallS: number; cpuS: number };

const MB = Number(process.env["BENCH_MB"] ?? 300);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 5);
const SHARE = 0.8;
const VERSION = "0.162.0";
const BLOCK_BYTES = 1024 ** 2;
const run = promisify(execFile);

const [part, file = ""] = process.argv.slice(2);
if (part === "serve") await serve(file);
else await main();

/** Serves one file under every path, in large blocks, and says its port. */
async function serve(path: string): Promise<void> {
  const { size } = await stat(path);
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-length": size });
    createReadStream(path, { highWaterMark: BLOCK_BYTES }).pipe(response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  console.log((server.address() as AddressInfo).port);
}

async function main(): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "myriarch-bench-"));
  const archive = join(root, "archive.tar.gz");
  await fill(archive);
  const server = spawn(process.execPath, [fileURLToPath(import.meta.url), "serve", archive], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const port = await new Promise<string>((resolve) => {
      server.stdout.once("data", (text: Buffer) => resolve(text.toString().trim()));
    });
    const base = `http://127.0.0.1:${port}/api/v1/artifacts/`;
    const digest = await hashFile(archive);
    const update = await createUpdate(root, digest, base);
    const url = `${base}1/content/archive.tar.gz`;
    const rounds: { ours: Taken; other: Taken }[] = [];
    for (let k = 0; k <= ROUNDS; k++) {
      const ours = await measured(async () => await update(url));
      const other = await curl(url, digest);
      if (k > 0) rounds.push({ ours, other });
    }
    console.log(`${MB} MB from loopback, ${ROUNDS} rounds after one that only warms up.`);
    console.log(`Load average of the machine, this benchmark included: ${(loadavg()[0] ?? 0).toFixed(1)}.`);
    const speeds = (of: (taken: Taken) => number) =>
      rounds.map(({ ours, other }) => ({ ours: MB / of(ours), other: MB / of(other) }));
    const byWall = speeds(({ wallS }) => wallS);
    const byCpu = speeds(({ cpuS }) => cpuS);
    console.log(JSON.stringify(atLeastTimes("download, hash and verify", byWall, SHARE, "MB/s")));
    // curl and sha256sum are two processes: where others want the processors too they get twice our share of them
    console.log(JSON.stringify(atLeastTimes("the same by processor time", byCpu, SHARE, "MB per CPU s")));
  } finally {
    server.kill();
    await rm(root, { recursive: true, force: true });
  }
}

async function measured(work: () => Promise<void>): Promise<Taken> {
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { wallS: (performance.now() - startedAt) / 1_000, cpuS: (user + system) / 1_000_000 };
}

/** Bytes that no compression and no sparse file makes fewer. */
async function fill(path: string): Promise<void> {
  const handle = await open(path, "wx");
  for (let left = MB * 1_000_000; left > 0; left -= BLOCK_BYTES)
    await handle.write(randomBytes(Math.min(left, BLOCK_BYTES)));
  await handle.close();
}

/** The steps `downloading` and `verifying` as an offer has them, by the code that hosts run. */
async function createUpdate(root: string, digest: string, prefix: string): Promise<(url: string) => Promise<void>> {
  const authority = await openSigningAuthority(join(root, "authority"));
  const signature = await authority.signFile(`sha256:${digest}`, { tag: `v${VERSION}` });
  const download = createDownloader({ files: systemFiles, clock: systemClock, log: { info: () => undefined } });
  const verify = signatureRule({
    trustedRootFile: authority.trustedRootFile,
    requireSignature: true,
    certificateIdentityRegexp: CONTRACT_DEFAULTS.identityPattern,
    certificateOidcIssuer: CONTRACT_DEFAULTS.oidcIssuer,
  });
  return async (url) => {
    const { path, sha256 } = await download({
      url,
      headers: () => [{ key: "Authorization", value: "Bearer token" }],
      allowedUrlPrefixes: [prefix],
      spoolFile: join(root, "spool", randomBytes(6).toString("hex")),
      maxBytes: CONTRACT_DEFAULTS.maxArchiveBytes,
      idleTimeoutMs: CONTRACT_DEFAULTS.idleTimeoutMs,
      signal: new AbortController().signal,
      requireRoom: async () => undefined,
    });
    if (sha256 !== digest) throw new Error("the download has other bytes");
    await verify(signature, sha256, VERSION);
    await rm(path);
  };
}

/** The shell's `times` says on its last line what its children took. */
async function curl(url: string, digest: string): Promise<Taken> {
  const startedAt = performance.now();
  const { stdout } = await run("/bin/sh", ["-ec", 'curl -sS --fail "$1" | sha256sum; times', "sh", url]);
  const wallS = (performance.now() - startedAt) / 1_000;
  if (!stdout.startsWith(digest)) throw new Error("curl got other bytes");
  const parts = Array.from(stdout.matchAll(/(\d+)m([\d.]+)s/g), ([, m, s]) => Number(m) * 60 + Number(s)).slice(-2);
  return { wallS, cpuS: parts.reduce((sum, part) => sum + part, 0) };
}
