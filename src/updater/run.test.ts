/** What is said and done at the start, by the very code that starts the program. */
import { chmodSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { serveTufRepository } from "../../test/support/tuf-repository.ts";
import { openSigningAuthority } from "../signing/authority.ts";
import { parseUpdaterConfig } from "./config.ts";
import { recoverOnce, run, type RunOptions } from "./run.ts";

let root: string;
let said: string[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "updater-run-"));
  said = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const note = (fields: object, text: string): void => void said.push(`${text} ${JSON.stringify(fields)}`);
const log = { info: () => undefined, warn: note, error: note };

/** Writes the configuration and says how the program would be started with it. */
function options(server: object, update: object = {}, mode = 0o600): RunOptions {
  const configFile = join(root, "updater.yaml");
  const text = stringify({
    server: { endpoint: "ws://127.0.0.1:1/v1/opamp", ...server },
    stateDir: join(root, "state"),
    installDir: join(root, "install"),
    supervisor: { manager: "process", command: ["/bin/sleep", "1000"], storageDir: join(root, "supervisor") },
    update,
  });
  writeFileSync(configFile, text);
  chmodSync(configFile, mode);
  const read = parseUpdaterConfig(text, configFile);
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  return { settings: read.settings, configFile, version: "1.2.3", log, env: {} };
}
const started = async (it: RunOptions) => await recoverOnce(it, new AbortController().signal);

describe("the start warns", () => {
  it("of an inline token in a configuration file that others may read or write, by setting and path", async () => {
    const it = options({ token: "hunter2" }, {}, 0o646);
    await started(it);
    expect(said).toEqual([
      `server.token: ${it.configFile} is writable by group or others {}`,
      `server.token: ${it.configFile} is readable by others {}`,
    ]);
    expect(said.join()).not.toContain("hunter2");
  });

  it("of a token file likewise, and of no configuration file that holds no token", async () => {
    const tokenFile = join(root, "token");
    writeFileSync(tokenFile, "hunter2");
    chmodSync(tokenFile, 0o644);
    await started(options({ tokenFile }, {}, 0o644));
    expect(said).toEqual([`server.tokenFile: ${tokenFile} is readable by others {}`]);
  });

  it("of a trusted root file that is older than 90 days", async () => {
    const trustedRootFile = join(root, "trusted_root.json");
    writeFileSync(trustedRootFile, "{}");
    const now = Date.now() / 1_000;
    utimesSync(trustedRootFile, now, now - 89 * 86_400);
    await started(options({ token: "x" }, { trustedRootFile }));
    expect(said).toEqual([]);
    utimesSync(trustedRootFile, now, now - 91.5 * 86_400);
    await started(options({ token: "x" }, { trustedRootFile }));
    expect(said).toEqual([
      expect.stringContaining(`update.trustedRootFile: ${trustedRootFile} is 91 days old; `) as string,
    ]);
  });
});

it("without a root file the program fetches it by TUF when it starts, into a folder of its own", async () => {
  const authority = await openSigningAuthority(join(root, "authority"));
  const repository = await serveTufRepository(authority.trustedRoot());
  try {
    const tufRootFile = join(root, "first-root.json");
    writeFileSync(tufRootFile, repository.root);
    const ending = new AbortController();
    const fetched = new Promise<void>((resolve) => {
      repository.answered = (path) => path.startsWith("/targets/") && resolve();
    });
    const running = run(
      options({ token: "x" }, { tufMirrorUrl: repository.url, tufRootFile }),
      ending.signal,
      () => undefined,
    );
    await fetched;
    ending.abort(new Error("over"));
    await running;
    expect(statSync(join(root, "state", "tuf")).mode & 0o777).toBe(0o700);
  } finally {
    await repository.close();
  }
});
