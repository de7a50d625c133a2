import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { parseUpdaterConfig, type UpdaterSettings } from "./config.ts";
import { supervisorDropIn, systemdUnit, wholeUpdateSeconds, windowsTask } from "./service-file.ts";

let root: string;
beforeAll(() => void (root = mkdtempSync(join(tmpdir(), "updater-unit-"))));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function settingsOf(supervisor: object, update: object = {}): UpdaterSettings {
  const file = {
    server: { endpoint: "wss://fleet.example.com/v1/opamp", token: "t" },
    stateDir: join(root, "state"),
    installDir: join(root, "100% install"),
    supervisor: { storageDir: join(root, "supervisor"), ...supervisor },
    update,
  };
  const read = parseUpdaterConfig(stringify(file), "updater.yaml");
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  return read.settings;
}
const asService = () => settingsOf({ manager: "systemd", service: "opampsupervisor" });
const asChild = () => settingsOf({ manager: "process", command: ["/bin/true"] });

const absent = spawnSync("systemd-analyze", ["--version"]).error !== undefined;
if (absent) console.warn("skipped: judging units needs systemd-analyze");

/** What systemd says of a unit of ours, with its supervisor beside it. */
function judged(settings: UpdaterSettings): string {
  const folder = mkdtempSync(join(root, "units-"));
  const dropIn = supervisorDropIn(settings);
  writeFileSync(join(folder, "opampsupervisor.service"), "[Service]\nExecStart=/bin/true\n");
  if (dropIn !== undefined) {
    mkdirSync(join(folder, "opampsupervisor.service.d"));
    writeFileSync(join(folder, "opampsupervisor.service.d", "50.conf"), dropIn.text);
  }
  // the unit names a program that exists, with a name that needs quoting
  writeFileSync(join(folder, "my $updater"), "#!/bin/sh\n", { mode: 0o755 });
  const { text } = systemdUnit(settings, ["/bin/sh", join(folder, "my $updater")], "/etc/my %config.yaml");
  const unit = join(folder, "myriarch-updater.service");
  writeFileSync(unit, text);
  const { stdout, stderr } = spawnSync("systemd-analyze", ["verify", unit, join(folder, "opampsupervisor.service")], {
    encoding: "utf8",
  });
  // units of the machine that runs the test are none of ours
  return `${stdout}${stderr}`
    .split("\n")
    .filter((line) => line.includes(folder) || /myriarch|opampsupervisor/.test(line))
    .join("\n");
}

describe("the systemd unit", () => {
  it.skipIf(absent)("is one that systemd understands, for both ways of running the supervisor", () => {
    expect(judged(asService())).toBe("");
    expect(judged(asChild())).toBe("");
  });

  it("gives start and stop the time of a swap and the way back, and lets nobody else speak for us", () => {
    const settings = settingsOf(
      { manager: "systemd", service: "opampsupervisor", stopTimeout: "90s" },
      { healthTimeout: "200s" },
    );
    const { text } = systemdUnit(settings, ["/opt/updater"], "/etc/updater.yaml");
    const seconds = wholeUpdateSeconds(settings);
    expect(seconds).toBeGreaterThan(2 * 200 + 4 * 90);
    for (const line of [
      `TimeoutStopSec=${seconds}`,
      `TimeoutStartSec=${seconds}`,
      "Type=notify",
      "NotifyAccess=main",
      "WatchdogSec=180",
      "KillMode=mixed",
      "ProtectSystem=strict",
      "NoNewPrivileges=true",
    ])
      expect(text.split("\n")).toContain(line);
    expect(text).toContain(`ReadWritePaths=${root}/state "${root}/100%% install" -${root}/supervisor\n`);
  });

  it("leaves a supervisor that runs as our child what it may need", () => {
    const { text } = systemdUnit(asChild(), ["/opt/updater"], "/etc/updater.yaml");
    expect(text).not.toMatch(/^(NoNewPrivileges|PrivateDevices|ProtectHome)=/m);
    expect(supervisorDropIn(asChild())).toBeUndefined();
  });

  it("stops the supervisor by SIGINT, beside what an enrolment wrote", () => {
    expect(supervisorDropIn(asService())).toEqual({
      path: "/etc/systemd/system/opampsupervisor.service.d/50-myriarch-stop.conf",
      text: expect.stringContaining("\nKillSignal=SIGINT\nTimeoutStopSec=60\n") as string,
    });
  });
});

describe("the files in deploy/systemd", () => {
  const deploy = (path: string): string => join(import.meta.dirname, "../../deploy/systemd", path);
  const settings = (): UpdaterSettings => ({
    ...asService(),
    stateDir: "/var/lib/myriarch-updater",
    installDir: "/opt/otelcol",
    supervisor: { ...asService().supervisor, storageDir: "/var/lib/opampsupervisor" },
  });

  it("are what install-service writes on the host of docs/updater.md, for whoever makes packages or images", async () => {
    const { text } = systemdUnit(settings(), ["/usr/local/bin/myriarch-updater"], "/etc/myriarch/updater.yaml");
    await expect(text).toMatchFileSnapshot(deploy("myriarch-updater.service"));
    await expect(supervisorDropIn(settings())?.text).toMatchFileSnapshot(
      deploy("opampsupervisor.service.d/50-myriarch-stop.conf"),
    );
  });
});

describe("the Windows task", () => {
  it("starts with the system as SYSTEM, has no time limit, and is started again when it ends", () => {
    const { file, commands } = windowsTask(["C:\\Program Files\\m&m\\updater.exe"], "C:\\my config.yaml", "C:\\state");
    expect(commands).toEqual([
      ["schtasks.exe", "/Create", "/TN", "myriarch-updater", "/XML", "C:\\state\\myriarch-updater-task.xml", "/F"],
      ["schtasks.exe", "/Run", "/TN", "myriarch-updater"],
    ]);
    for (const part of [
      "<Command>C:\\Program Files\\m&amp;m\\updater.exe</Command>",
      "<Arguments>&quot;run&quot; &quot;--config&quot; &quot;C:\\my config.yaml&quot;</Arguments>",
      "<UserId>S-1-5-18</UserId>",
      "<BootTrigger>",
      "<ExecutionTimeLimit>PT0S</ExecutionTimeLimit>",
      "<RestartOnFailure>",
    ])
      expect(file.text).toContain(part);
  });
});
