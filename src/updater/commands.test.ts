import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { openBackoff } from "./backoff.ts";
import { systemClock } from "./clock.ts";
import { runCommand, type CommandContext } from "./commands.ts";
import { systemFiles } from "./files.ts";
import { lockFolder } from "./host-folder.ts";

let root: string;
let config: string;
let out: string;
let err: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "updater-commands-"));
  config = join(root, "updater.yaml");
  out = "";
  err = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => ((out += String(text)), true));
  vi.spyOn(process.stderr, "write").mockImplementation((text) => ((err += String(text)), true));
  configure({});
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(root, { recursive: true, force: true });
});

function configure(over: object): void {
  const settings = {
    server: { endpoint: "ws://127.0.0.1:1/v1/opamp", tokenFile: join(root, "token") },
    stateDir: join(root, "state"),
    installDir: join(root, "install"),
    supervisor: { manager: "systemd", service: "opampsupervisor", storageDir: join(root, "supervisor") },
    ...over,
  };
  writeFileSync(config, stringify(settings));
  writeFileSync(join(root, "token"), "hunter2", { mode: 0o600 });
}
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const command = async (...argv: string[]): Promise<number> => await commandOf({ argv });
const commandOf = async (over: Pick<CommandContext, "argv" | "licences">): Promise<number> =>
  await runCommand({
    ...over,
    version: "1.2.3",
    program: ["/usr/bin/node", "/opt/my updater.ts"],
    env: {},
    signal: new AbortController().signal,
  });

describe("commands", () => {
  it("--help names every command and the exit codes and ends with 0; wrong use with 2, saying where to look", async () => {
    expect(await command("--help")).toBe(0);
    for (const name of ["run", "check-config", "status", "recover", "install-service", "verify-bundle", "--licences"])
      expect(out).toContain(name);
    expect(out).toContain("Exit codes:");
    expect(await command("--version")).toBe(0);
    expect(out).toContain("1.2.3\n");
    for (const [argv, answer] of [
      [["dance"], /unknown command 'dance'/],
      [["status", "--jsno"], /unknown option '--jsno'[^]*Did you mean --json/],
      [["run", "--config"], /argument missing/],
      [
        ["run", "--config", join(root, "absent.yaml")],
        /absent\.yaml cannot be read \(ENOENT\); name the configuration/,
      ],
      [["--licences"], /only the executable/],
    ] as const) {
      err = "";
      expect(await command(...argv)).toBe(2);
      expect(err).toMatch(answer);
    }
    expect(await command()).toBe(2);
  });

  it("--licences prints what the executable carries", async () => {
    expect(await commandOf({ argv: ["--licences"], licences: () => "the licence" })).toBe(0);
    expect(out).toBe("the licence\n");
  });

  it("run names the setting whose file is absent, and ends with 2", async () => {
    rmSync(join(root, "token"));
    expect(await command("run", "--config", config)).toBe(2);
    expect(err).toMatch(/cannot start: server\.tokenFile: .*token cannot be read \(ENOENT\)/);
    const tls = { caFile: join(root, "ca.pem") };
    configure({ server: { endpoint: "wss://127.0.0.1:1/v1/opamp", token: "t", tls } });
    expect(await command("run", "--config", config)).toBe(2);
    expect(err).toMatch(/cannot start: server\.tls\.caFile: .*ca\.pem cannot be read \(ENOENT\)/);
  });

  it("check-config says ok, or each issue with file and line", async () => {
    expect(await command("check-config", "--config", config)).toBe(0);
    expect(out).toContain("ok");
    configure({ bniary: "x" });
    expect(await command("check-config", "--config", config)).toBe(1);
    expect(err).toMatch(/updater\.yaml:\d+:\d+: error: bniary: unknown key \(did you mean binary\?\)/);
    expect(await command("check-config", "--config", join(root, "absent.yaml"))).toBe(2);
  });

  it("check-config warns of a trusted root that is old or not there, with file, line and key, and still says ok", async () => {
    const trustedRootFile = join(root, "trusted_root.json");
    configure({ update: { trustedRootFile } });
    expect(await command("check-config", "--config", config)).toBe(0);
    expect(err).toMatch(/updater\.yaml:\d+:\d+: warning: update\.trustedRootFile: .* cannot be read \(ENOENT\)/);
    writeFileSync(trustedRootFile, "{}");
    err = "";
    expect(await command("check-config", "--config", config)).toBe(0);
    expect(err).not.toContain("trustedRootFile");
    utimesSync(trustedRootFile, 0, 0);
    expect(await command("check-config", "--config", config)).toBe(0);
    expect(err).toMatch(/updater\.yaml:\d+:\d+: warning: update\.trustedRootFile: .* days old; .*replace it/);
  });

  it("status shows what is on disk; a version put there by hand has no signed way back", async () => {
    expect(await command("status", "--config", config)).toBe(0);
    expect(out).toMatch(/active: +none/);
    mkdirSync(join(root, "install/versions/0.160.0"), { recursive: true });
    writeFileSync(join(root, "install/versions/0.160.0/otelcol-contrib"), "x");
    symlinkSync("versions/0.160.0", join(root, "install/current"));
    mkdirSync(join(root, "state"));
    writeFileSync(join(root, "state/journal.json"), "{}");
    out = "";
    expect(await command("status", "--config", config)).toBe(0);
    expect(out).toMatch(/v0\.160\.0 \(put there by hand: no signed way back\)/);
    expect(out).toContain("journal:      open: an update was cut off");
    out = "";
    expect(await command("status", "--json", "--config", config)).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      active: { version: "0.160.0", marker: false },
      versions: ["0.160.0"],
      journal: {},
      lastAttempt: null,
    });
  });

  it("status tells who runs, when the last attempt ended, and what is not tried at present; --json is the same", async () => {
    mkdirSync(join(root, "state"));
    const lock = await lockFolder(join(root, "state"));
    const folder = { folder: join(root, "state"), files: systemFiles, log };
    const failed = await openBackoff(folder, systemClock, 600_000);
    await failed.remember("ab".repeat(32), "preflight: it does not run");
    const statusNanos = "1700000000000000000";
    writeFileSync(
      join(root, "state/attempt.json"),
      JSON.stringify({ version: "0.162.0", status: "failed", error: "download: cut", statusNanos }),
    );
    expect(await command("status", "--config", config)).toBe(0);
    expect(out).toContain(`updater:      runs (process ${process.pid})`);
    expect(out).toContain("last attempt: v0.162.0 failed at 2023-11-14T22:13:20.000Z: download: cut");
    expect(out).toMatch(/not before: +20\d\d-.*Z archive abababababab… \(preflight: it does not run\)/);
    await lock.release();
    out = "";
    expect(await command("status", "--json", "--config", config)).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      updater: null,
      notBefore: [{ cause: "preflight: it does not run" }],
      unreadable: [],
    });
  });

  it("status never repairs: broken files stay where they are, and are told", async () => {
    mkdirSync(join(root, "state"));
    for (const name of ["attempt.json", "backoff.json", "journal.json"]) writeFileSync(join(root, "state", name), "{");
    expect(await command("status", "--config", config)).toBe(0);
    expect(out).toContain("last attempt: its file is unreadable");
    expect(out).toContain("journal:      open: an update was cut off");
    expect(readdirSync(join(root, "state")).toSorted()).toEqual(["attempt.json", "backoff.json", "journal.json"]);
  });

  it.skipIf(process.getuid?.() !== 0)(
    "status as another account names what it cannot read, and ends with 1",
    async () => {
      mkdirSync(join(root, "state"), { mode: 0o700 });
      mkdirSync(join(root, "install/versions/0.160.0"), { recursive: true });
      writeFileSync(join(root, "install/versions/0.160.0/otelcol-contrib"), "x");
      chmodSync(root, 0o755);
      process.seteuid?.(65_534);
      try {
        expect(await command("status", "--config", config)).toBe(1);
      } finally {
        process.seteuid?.(0);
      }
      expect(out).toContain("updater:      unknown");
      expect(out).toContain("on disk:      v0.160.0");
      expect(out).toMatch(/unreadable: +.*\/state\/journal\.json; ask as root/);
    },
  );

  it("install-service shows with --dry-run, and writes folders, unit and the supervisor's drop-in", async () => {
    expect(await command("install-service", "--dry-run", "--config", config)).toBe(0);
    expect(out).toContain('ExecStart=/usr/bin/node "/opt/my updater.ts" run --config');
    expect(existsSync(join(root, "state"))).toBe(false);
    expect(await command("install-service", "--root", join(root, "image"), "--config", config)).toBe(0);
    const etc = join(root, "image/etc/systemd/system");
    expect(readFileSync(join(etc, "myriarch-updater.service"), "utf8")).toContain("Type=notify");
    expect(readFileSync(join(etc, "opampsupervisor.service.d/50-myriarch-stop.conf"), "utf8")).toContain(
      "KillSignal=SIGINT",
    );
    expect(statSync(join(root, "image", root, "state")).mode & 0o777).toBe(0o700);
    expect(out).toContain("systemctl enable --now myriarch-updater.service");
    writeFileSync(join(root, "file"), "");
    expect(await command("install-service", "--root", join(root, "file"), "--config", config)).toBe(2);
  });

  it("verify-bundle answers 2 when there is no verdict", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    expect(await command("verify-bundle", "--bundle", join(root, "absent"))).toBe(2);
  });
});
