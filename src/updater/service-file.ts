/** What `install-service` writes: a systemd unit, or the command that makes a Windows service. */
import type { UpdaterSettings } from "./config.ts";

export type ServiceFile = { path: string; text: string; next: string[] };

/** systemd must not kill us between stop and start: two health waits, one for the swap and one for the way back, fit in. */
const stopSeconds = ({ update, supervisor }: UpdaterSettings): number =>
  Math.ceil((2 * update.healthTimeout + 2 * supervisor.stopTimeout) / 1_000) + 60;

export function systemdUnit(settings: UpdaterSettings, program: readonly string[], configFile: string): ServiceFile {
  const command = [...program, "run", "--config", configFile].map(quoted).join(" ");
  const { supervisor, stateDir, installDir } = settings;
  const writable = [stateDir, installDir, ...(supervisor.manager === "process" ? [supervisor.storageDir] : [])];
  const text = `[Unit]
Description=Myriarch updater: installs collector versions on this host
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=${command}
Restart=always
RestartSec=5
# an update past the stop of the supervisor is finished or taken back before we end
TimeoutStopSec=${stopSeconds(settings)}
KillMode=mixed
KillSignal=SIGTERM
ProtectSystem=strict
ReadWritePaths=${writable.map(quoted).join(" ")}
ProtectHome=read-only
PrivateTmp=true
ProtectKernelTunables=true
ProtectControlGroups=true
RestrictSUIDSGID=true
UMask=0022

[Install]
WantedBy=multi-user.target
`;
  const next = ["systemctl daemon-reload", "systemctl enable --now myriarch-updater.service"];
  return { path: "/etc/systemd/system/myriarch-updater.service", text, next };
}

/** Arguments of the `sc.exe` calls that make the service. */
export function windowsService(program: readonly string[], configFile: string): string[][] {
  const command = [...program, "run", "--config", configFile].map((word) => `"${word}"`).join(" ");
  return [
    ["create", "myriarch-updater", "binPath=", command, "start=", "auto", "DisplayName=", "Myriarch updater"],
    ["failure", "myriarch-updater", "reset=", "86400", "actions=", "restart/5000"],
  ];
}

/** As unit files quote words; a percent sign would be a specifier. */
const quoted = (word: string): string =>
  /^[A-Za-z0-9_./:@=-]+$/.test(word) ? word : `"${word.replaceAll(/[\\"]/g, "\\$&").replaceAll("%", "%%")}"`;
