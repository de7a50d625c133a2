/** What `install-service` puts on a host: the systemd unit with the supervisor's drop-in, or the task of Windows. */
import { win32 } from "node:path";
import type { UpdaterSettings } from "./config.ts";

export type ServiceFile = { path: string; text: string };

export const UNIT_FOLDER = "/etc/systemd/system";
export const SERVICE = "myriarch-updater";

/** What `systemctl` and the end of leftovers may take on top of a stop or start. */
const MANAGER_S = 30;

/**
 * One swap and the way back: two stops, two starts, two waits for health, and a minute. Neither a stop nor a start of the
 * updater may be cut off inside; a start repairs what a kill left.
 */
export const wholeUpdateSeconds = ({ update, supervisor }: UpdaterSettings): number =>
  2 * Math.ceil(update.healthTimeout / 1_000) + 4 * (Math.ceil(supervisor.stopTimeout / 1_000) + MANAGER_S) + 60;

/** Fed three times a period: a message costs some milliseconds, and a hanging attempt is no matter of seconds. */
const WATCHDOG_S = 180;

export function systemdUnit(settings: UpdaterSettings, program: readonly string[], configFile: string): ServiceFile {
  // only in commands a dollar sign is a variable
  const words = [...program, "run", "--config", configFile].map((word) => quoted(word).replaceAll("$", "$$$$"));
  const command = words.join(" ");
  const { supervisor, stateDir, installDir } = settings;
  const isParent = supervisor.manager === "process";
  // the supervisor's storage too: a saved configuration that it cannot read is moved aside there; it need not exist yet
  const writable = [quoted(stateDir), quoted(installDir), quoted(`-${supervisor.storageDir}`)].join(" ");
  const seconds = wholeUpdateSeconds(settings);
  const text = `# Written by "myriarch-updater install-service"; changes belong into a drop-in (systemctl edit ${SERVICE}).
[Unit]
Description=Myriarch updater: installs collector versions on this host
Wants=network-online.target
After=network-online.target
# It is tried again however often it ends: without it this host stays on its version.
StartLimitIntervalSec=0

[Service]
Type=notify
# systemd-notify, run by us as root, speaks in our name; nothing else in our group may.
NotifyAccess=main
ExecStart=${command}
Restart=always
RestartSec=5
WatchdogSec=${WATCHDOG_S}
# A start may have to repair a host, a stop may have to finish or take back an update: one swap and the way back.
TimeoutStartSec=${seconds}
TimeoutStopSec=${seconds}
# The signal reaches the updater alone, which stops its own children in their order.
KillMode=mixed
KillSignal=SIGTERM
UMask=0022

${isParent ? HARDENED_AS_PARENT : HARDENED}
ProtectSystem=strict
ReadWritePaths=${writable}

[Install]
WantedBy=multi-user.target
`;
  return { path: `${UNIT_FOLDER}/${SERVICE}.service`, text };
}

/** For every way of running the supervisor. */
const ALWAYS = `PrivateTmp=true
ProtectKernelTunables=true
ProtectKernelModules=true
ProtectKernelLogs=true
ProtectControlGroups=true
ProtectClock=true
ProtectHostname=true
RestrictSUIDSGID=true
RestrictRealtime=true
LockPersonality=true`;

const HARDENED = `# Not possible, and why:
#   User=                    it restarts a service of the system and runs checks under the supervisor's account
#   CapabilityBoundingSet=   who may start any service of the system has every right by that
#   MemoryDenyWriteExecute=  the runtime makes machine code while it runs
#   SystemCallFilter=        the new collector is tried inside this unit, and what it calls is not ours to know
#   ProcSubset=, ProtectProc=  it must see the processes of the supervisor's account to end leftovers
NoNewPrivileges=true
PrivateDevices=true
RestrictNamespaces=true
ProtectHome=read-only
${ALWAYS}`;

const HARDENED_AS_PARENT = `# Supervisor and collector run inside this unit (manager: process), so that what they need counts too. Left out for them:
# NoNewPrivileges (file capabilities of a collector), PrivateDevices, RestrictNamespaces, ProtectHome (what it reads).
# Other folders that a collector writes to belong into a drop-in with ReadWritePaths=.
${ALWAYS}`;

/** For the supervisor's service; undefined when it is no service of systemd. Beside what an enrolment wrote there. */
export function supervisorDropIn({ supervisor }: UpdaterSettings): ServiceFile | undefined {
  if (supervisor.manager !== "systemd" || supervisor.service === undefined) return undefined;
  const unit = supervisor.service.endsWith(".service") ? supervisor.service : `${supervisor.service}.service`;
  return {
    path: `${UNIT_FOLDER}/${unit}.d/50-myriarch-stop.conf`,
    text: `# Written by "myriarch-updater install-service".
[Service]
# The supervisor handles SIGINT only. On SIGTERM, systemd's default, it dies without a word and leaves its collector on
# its ports, where the next start fails.
KillSignal=SIGINT
TimeoutStopSec=${Math.ceil(supervisor.stopTimeout / 1_000)}
`,
  };
}

/**
 * Windows: a task that the system starts, and starts again. Not a service: a service must answer the service control
 * manager, which Node cannot without native code, and would be ended after 30 seconds (error 1053).
 */
export function windowsTask(
  program: readonly string[],
  configFile: string,
  stateDir: string,
): { file: ServiceFile; commands: string[][] } {
  const [command, ...args] = [...program, "run", "--config", configFile];
  const path = win32.join(stateDir, `${SERVICE}-task.xml`);
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<Task version="1.3" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>Myriarch updater: installs collector versions on this host</Description></RegistrationInfo>
  <Triggers><BootTrigger><Enabled>true</Enabled></BootTrigger></Triggers>
  <Principals><Principal id="System"><UserId>S-1-5-18</UserId><RunLevel>HighestAvailable</RunLevel></Principal></Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>255</Count></RestartOnFailure>
    <StartWhenAvailable>true</StartWhenAvailable>
  </Settings>
  <Actions Context="System"><Exec><Command>${xml(command ?? "")}</Command><Arguments>${xml(
    args.map((word) => `"${word}"`).join(" "),
  )}</Arguments></Exec></Actions>
</Task>
`;
  return {
    file: { path, text },
    commands: [
      ["schtasks.exe", "/Create", "/TN", SERVICE, "/XML", path, "/F"],
      ["schtasks.exe", "/Run", "/TN", SERVICE],
    ],
  };
}

const xml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** As unit files quote words; a percent sign would be a specifier. */
const quoted = (word: string): string =>
  /^[A-Za-z0-9_./:@=-]+$/.test(word) ? word : `"${word.replaceAll(/[\\"]/g, "\\$&").replaceAll("%", "%%")}"`;
