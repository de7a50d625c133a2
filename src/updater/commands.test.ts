import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { runCommand } from "./commands.ts";

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
const command = async (...argv: string[]): Promise<number> =>
  await runCommand({
    argv,
    version: "1.2.3",
    program: ["/usr/bin/node", "/opt/my updater.ts"],
    env: {},
    signal: new AbortController().signal,
  });

describe("commands", () => {
  it("--help names every command and ends with 0; an unknown one with 2", async () => {
    expect(await command("--help")).toBe(0);
    for (const name of ["run", "check-config", "status", "recover", "install-service", "verify-bundle"])
      expect(out).toContain(name);
    expect(await command("dance")).toBe(2);
    expect(await command("run")).toBe(2);
  });

  it("check-config says ok, or each issue with file and line", async () => {
    expect(await command("check-config", "--config", config)).toBe(0);
    expect(out).toContain("ok");
    configure({ bniary: "x" });
    expect(await command("check-config", "--config", config)).toBe(1);
    expect(err).toMatch(/updater\.yaml:\d+:\d+: error: bniary: unknown key \(did you mean binary\?\)/);
    expect(await command("check-config", "--config", join(root, "absent.yaml"))).toBe(2);
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
    expect(out).toContain("journal:   open");
    out = "";
    expect(await command("status", "--json", "--config", config)).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      active: { version: "0.160.0", marker: false },
      versions: ["0.160.0"],
      journal: {},
      lastAttempt: null,
    });
  });

  it("install-service --print shows a unit that gives an update its time and stops cleanly", async () => {
    expect(await command("install-service", "--print", "--config", config)).toBe(0);
    expect(out).toContain('ExecStart=/usr/bin/node "/opt/my updater.ts" run --config');
    const seconds = Number(/TimeoutStopSec=(\d+)/.exec(out)?.[1]);
    expect(seconds).toBeGreaterThan(2 * 120);
    expect(out).toContain("KillMode=mixed");
  });

  it("verify-bundle answers 2 when there is no verdict", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    expect(await command("verify-bundle", "--bundle", join(root, "absent"))).toBe(2);
  });
});
