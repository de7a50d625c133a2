/** The updater as it is shipped: one file, on a host without Node; and the page for operators, whose commands are run. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { CONTRACT_DEFAULTS } from "../../src/domain/brand.ts";
import { writeSum } from "../../scripts/build-executable.ts";
import { builtExecutable } from "../support/executable.ts";
import { absentNotifyTool, openNotifySocket } from "../support/notify-socket.ts";
import type { SigningAuthority } from "../../src/signing/authority.ts";
import {
  openTestAuthority,
  removeAuthority,
  serveArchives,
  type Archive,
  type ArchiveServer,
} from "../support/updater-host.ts";
import { demoArchive, ProcessHost } from "../support/updater-process.ts";

const PAGE = join(import.meta.dirname, "../../docs/updater.md");
let built: Awaited<ReturnType<typeof builtExecutable>>;
let authority: SigningAuthority;
let good: Archive;
let archives: ArchiveServer;
let host: ProcessHost;

beforeAll(async () => {
  built = await builtExecutable();
  authority = await openTestAuthority();
  good = await demoArchive(authority, "0.161.0");
  archives = await serveArchives([good]);
});
afterAll(async () => {
  removeAuthority(authority);
  await archives.close();
  built.remove();
});
beforeEach(async () => void (host = await ProcessHost.create(archives, authority)));
afterEach(async () => await host.destroy());

/** No Node to be found, and options that would end one: neither matters to the executable. */
const BARE = { PATH: "", NODE_OPTIONS: "--require /nowhere/to/be/found.cjs" };
const bare = (...args: string[]) => spawnSync(built.path, args, { cwd: "/", env: BARE, encoding: "utf8" });

describe("the executable, on a host without Node", () => {
  it("is one file that says its version, checks a configuration, judges a bundle and prints the licences", () => {
    expect(basename(built.path)).toMatch(/^myriarch-updater-\d+\.\d+\.\d+-\w+-\w+$/);
    expect(bare("--version")).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string,
    });
    expect(bare("check-config", "--config", host.config)).toMatchObject({ status: 0 });
    const [bundle, archive] = [join(host.root, "bundle.json"), join(host.root, "archive")];
    writeFileSync(bundle, good.signature);
    writeFileSync(archive, good.bytes);
    const rule = ["--identity-regexp", CONTRACT_DEFAULTS.identityPattern, "--issuer", CONTRACT_DEFAULTS.oidcIssuer];
    const asked = ["verify-bundle", "--bundle", bundle, ...rule, "--trusted-root", authority.trustedRootFile];
    expect(bare(...asked, "--version", "0.161.0", archive)).toMatchObject({ status: 0, stderr: "" });
    expect(bare(...asked, "--version", "0.162.0", archive).status).toBe(1);
    const { stdout } = bare("--licences");
    for (const name of ["myriarch (Apache-2.0)", "undici", "@sigstore/verify", "OpenSSL", "V8"])
      expect(stdout).toContain(name);
    expect(bare("dance")).toMatchObject({ status: 2, stderr: expect.stringContaining("dance") as string });
  });
});

/** The page's shell commands, in order. */
const blocksOf = (page: string): string[] => Array.from(page.matchAll(/^```sh\n(.*?)^```/gms), ([, text = ""]) => text);

/** Where the page's host is not this folder: paths, addresses, and the supervisor's service, of which there is none here. */
function onFolder(block: string, folder: string): string {
  const { server, supervisor, collector, update } = parse(readFileSync(host.config, "utf8")) as {
    server: { endpoint: string };
    supervisor: { command: string[]; storageDir: string; healthUrl: string };
    collector: { healthUrl: string };
    update: { allowedUrlPrefixes: string[] };
  };
  // the demo collector is a script for `node`, which the supervisor's environment leads to, and nothing else does
  const child = `  manager: process\n  command: ${JSON.stringify(supervisor.command)}\n  environmentFile: ${folder}/supervisor.env\n`;
  const replaced: readonly (readonly [string, string])[] = [
    ["  manager: systemd\n  service: opampsupervisor\n", child],
    ["update:\n", "update:\n  healthInterval: 300ms\n"],
    ["wss://fleet.example.com/v1/opamp", server.endpoint],
    ["https://fleet.example.com/api/v1/artifacts/", update.allowedUrlPrefixes[0] ?? ""],
    ["http://127.0.0.1:13135/health", supervisor.healthUrl],
    ["http://127.0.0.1:13133/", collector.healthUrl],
    ["/var/lib/opampsupervisor", supervisor.storageDir],
    ["/var/lib/myriarch-updater", host.stateDir],
    ["/opt/otelcol", host.installDir],
    ["/usr/local/bin", `${folder}/usr/local/bin`],
    ["/etc/myriarch", `${folder}/etc/myriarch`],
    ["install-service --config", `install-service --root ${folder} --config`],
  ];
  return replaced.reduce((text, [from, to]) => text.replaceAll(from, to), block);
}

describe("the page for operators", () => {
  it("leads from nothing to an updated host by its own commands, without Node on the path", async () => {
    for (const path of [host.installDir, host.stateDir]) rmSync(path, { recursive: true });
    const folder = join(host.root, "page");
    const here = join(folder, "here"); // where the operator stands
    mkdirSync(here, { recursive: true });
    copyFileSync(built.path, join(here, basename(built.path)));
    await writeSum(join(here, basename(built.path)));
    copyFileSync(authority.trustedRootFile, join(here, "trusted_root.json"));
    writeFileSync(join(here, "token"), "enrollment-token\n");
    writeFileSync(join(folder, "supervisor.env"), `PATH=${dirname(process.execPath)}:/usr/bin:/bin\n`);
    mkdirSync(join(folder, "shims"));
    mkdirSync(join(folder, "only-notify"));
    symlinkSync("/usr/bin/systemd-notify", join(folder, "only-notify/systemd-notify"));
    // what is asked of systemd; the unit's own command is started below
    const asked = join(folder, "systemctl-asked");
    writeFileSync(join(folder, "shims/systemctl"), `#!/bin/sh\necho "$@" >> ${asked}\n`, { mode: 0o755 });
    chmodSync(join(folder, "shims/systemctl"), 0o755);
    const env = { PATH: `${folder}/shims:${folder}/usr/local/bin:/usr/bin:/bin` };
    const runBlock = (block: string) => {
      const script = onFolder(block, folder);
      const ran = spawnSync("/bin/sh", ["-eu"], { cwd: here, env, input: script, encoding: "utf8" });
      expect(ran, script).toMatchObject({ status: 0 });
      return ran.stdout;
    };

    const blocks = blocksOf(readFileSync(PAGE, "utf8"));
    expect(blocks).toHaveLength(4);
    const [program = "", files = "", service = "", status = ""] = blocks;
    runBlock(program);
    expect(runBlock(files)).toContain("updater.yaml: ok");
    expect(statSync(join(folder, "etc/myriarch/enrollment-token")).mode & 0o777).toBe(0o600);
    runBlock(service);
    expect(readFileSync(asked, "utf8")).toBe("daemon-reload\nenable --now myriarch-updater.service\n");

    const unit = readFileSync(join(folder, "etc/systemd/system/myriarch-updater.service"), "utf8");
    host.command = (/^ExecStart=(.*)$/m.exec(unit)?.[1] ?? "").split(" ");
    const socket = absentNotifyTool() === undefined ? await openNotifySocket() : undefined;
    host.env = {
      PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
      NOTIFY_SOCKET: socket?.path,
      WATCHDOG_USEC: "180000000",
    };
    try {
      await host.start();
      expect([(await socket?.nextState())?.text, (await socket?.nextState())?.text]).toEqual(
        socket === undefined ? [undefined, undefined] : ["READY=1", "WATCHDOG=1"],
      );
      expect(runBlock(status)).toMatch(/updater: +runs \(process \d+\)\nactive: +none\n/);
      await host.opamp.until("updater", () => host.opamp.stateOf(true).instanceUid !== undefined);
      host.offer(good);
      await host.attemptEnds("succeeded", "0.161.0");
      const after = runBlock(status);
      expect(after).toContain("v0.161.0 (installed from package)");
      expect(after).toContain("last attempt: v0.161.0 succeeded");
      await host.opamp.until("collector 0.161.0", () => host.reportedVersion === "0.161.0");
      expect(host.journalExists).toBe(false);
      expect(await host.signal("SIGTERM")).toBe(0);
      await host.untilProcesses({ supervisors: 0, collectors: 0 });
      if (socket !== undefined) expect((await socket.nextState()).text).toBe("STOPPING=1");
    } finally {
      socket?.close();
    }
  });
});
