/**
 * The files that make a host of the fleet: the upstream supervisor's configuration, its service's drop-in, the updater's
 * configuration beside it. What upstream leaves off or does badly by itself is set here, with the reason in the file, because
 * the file is what people keep. The enrollment token stands in files of its own and nowhere else.
 */
import { BRAND } from "../brand.ts";

export type SnippetFile = {
  name: "supervisor" | "base" | "environment" | "drop-in" | "updater" | "token";
  path: string;
  mode: string;
  content: string;
};
export type EnrolmentSnippet = { files: SnippetFile[]; next: string[] };
export type SnippetTransport = "websocket" | "http";

/** Stands where the token belongs: the server shows a token once, in the answer to its creation, and keeps none. */
const TOKEN_PLACEHOLDER = "<enrollment token>";
/** The variable of the supervisor's service that holds the token. */
export const TOKEN_VARIABLE = "MYRIARCH_ENROLLMENT_TOKEN";

const PATHS = {
  supervisor: "/etc/opampsupervisor/config.yaml",
  base: "/etc/opampsupervisor/base.yaml",
  environment: "/etc/opampsupervisor/myriarch.env",
  "drop-in": "/etc/systemd/system/opampsupervisor.service.d/myriarch.conf",
  updater: "/etc/myriarch/updater.yaml",
  token: "/etc/myriarch/enrollment-token",
} as const;
const INSTALL_DIR = "/opt/otelcol";
const STORAGE_DIR = "/var/lib/opampsupervisor";
const SUPERVISOR_HEALTH = "127.0.0.1:13135";
const COLLECTOR_HEALTH = "127.0.0.1:13133";

/** Every file with its path and mode, and what to do then. `publicUrl` has no path (the configuration check says so). */
export function enrolmentSnippet(of: { publicUrl: string; transport: SnippetTransport }): EnrolmentSnippet {
  const base = of.publicUrl.replace(/\/$/, "");
  const polled = `${base}${BRAND.opampPath}`;
  const socket = polled.replace(/^http/, "ws");
  const file = (name: SnippetFile["name"], content: string, mode = "0644"): SnippetFile => ({
    name,
    path: PATHS[name],
    mode,
    content,
  });
  return {
    files: [
      file("supervisor", supervisor(of.transport === "http" ? polled : socket)),
      file("base", BASE),
      file("environment", `${TOKEN_VARIABLE}=${TOKEN_PLACEHOLDER}\n`, "0600"),
      file("drop-in", DROP_IN),
      file("updater", updater(socket)),
      file("token", `${TOKEN_PLACEHOLDER}\n`, "0600"),
    ],
    next: [
      "systemctl daemon-reload",
      "systemctl restart opampsupervisor.service",
      `myriarch-updater check-config --config ${PATHS.updater}`,
      `myriarch-updater install-service --config ${PATHS.updater}`,
    ],
  };
}

/** The same with the token in its places. */
export const withToken = (snippet: EnrolmentSnippet, token: string): EnrolmentSnippet => ({
  ...snippet,
  files: snippet.files.map((file) => ({ ...file, content: file.content.replaceAll(TOKEN_PLACEHOLDER, () => token) })),
});

/**
 * A shell script that writes the files, for root on a host; below `$PREFIX` if that is set. A file that holds the token is
 * never readable by others, also not while it is written.
 */
export function snippetScript({ files, next }: EnrolmentSnippet): string {
  const END = "END_OF_FILE";
  return [
    "#!/bin/sh",
    "# Enrols this host: writes the files below, replacing what was there. Run it as root; it holds a token, remove it then.",
    "set -eu",
    'put() { mkdir -p "$(dirname "${PREFIX:-}$2")"; (umask 077; cat >"${PREFIX:-}$2"); chmod "$1" "${PREFIX:-}$2"; }',
    ...files.map(({ path, mode, content }) => `\nput ${mode} ${path} <<'${END}'\n${content}${END}`),
    "\n# Then:",
    ...next.map((command) => `#   ${command}`),
  ].join("\n");
}

const supervisor = (endpoint: string): string => `\
# OpAMP supervisor of this host. Parts of the collector's configuration that are this host's own belong into
# base.yaml, not into effective.yaml, which is written anew at every change.
server:
  endpoint: ${JSON.stringify(endpoint)}
  headers:
    # From the environment of the service. A new token counts when the service was restarted.
    Authorization: "Bearer \${env:${TOKEN_VARIABLE}}"
  # Where the server's certificate is of an authority of your own:
  # tls: { ca_file: /etc/myriarch/ca.pem }

# Upstream's defaults leave the first four off: such a collector is seen, but cannot be managed.
capabilities:
  accepts_remote_config: true # takes its configuration from the server
  reports_remote_config: true # says whether it applied it; without this nobody ever knows
  accepts_restart_command: true
  reports_available_components: true # what it cannot run is then not even offered
  reports_effective_config: true
  reports_health: true
  reports_heartbeat: true

storage:
  directory: ${STORAGE_DIR}

agent:
  # A link that the updater turns. It is followed at every start of the service.
  executable: ${INSTALL_DIR}/current/otelcol-contrib
  config_files:
    - ${PATHS.base}
    - $REMOTE_CONFIG
  # At its start the supervisor runs the collector once to ask who it is; upstream's 3 s are too few for a slow or busy
  # host, and then the supervisor ends with "collector's OpAMP client never connected".
  bootstrap_timeout: 20s
  # So long after a new configuration the collector must be healthy: then it is APPLIED, else FAILED. Nothing is said
  # before, so every change takes at least this long. Raise it where collectors start slowly.
  config_apply_timeout: 5s
  # True: \`validate\` runs before the collector is stopped, and a configuration that it refuses leaves the old one running.
  # Off, because it opens what the running collector has open, so that on some builds a good configuration fails for a
  # port in use. The server checks syntax and components in any case, and takes a failed configuration back.
  validate_config: false
  # The collector has no use for the token, and a configuration could send it away.
  env:
    ${TOKEN_VARIABLE}: ""

# Asked by the updater: answers when the supervisor has loaded its state, which is not yet a running collector.
healthcheck:
  endpoint: ${SUPERVISOR_HEALTH}
`;

const BASE = `\
# What every configuration of this host begins with; what the server sends is laid over it.
# The updater asks this health endpoint whether a new version runs.
extensions:
  health_check:
    endpoint: ${COLLECTOR_HEALTH}
# A collector without any pipeline does not start: this one carries nothing.
receivers:
  nop: {}
exporters:
  nop: {}
service:
  extensions: [health_check]
  pipelines:
    metrics/none:
      receivers: [nop]
      exporters: [nop]
`;

const DROP_IN = `\
[Service]
EnvironmentFile=${PATHS.environment}
# The supervisor handles SIGINT only. On SIGTERM, systemd's default, it dies without a word and leaves its collector on
# its ports, where the next start fails.
KillSignal=SIGINT
`;

const updater = (endpoint: string): string => `\
# myriarch-updater of this host: what the server may have installed here is decided by this file.
server:
  endpoint: ${JSON.stringify(endpoint)}
  tokenFile: ${PATHS.token} # the supervisor's token: both must come with the same
stateDir: /var/lib/myriarch-updater
installDir: ${INSTALL_DIR}
supervisor:
  manager: systemd
  service: opampsupervisor
  storageDir: ${STORAGE_DIR}
  healthUrl: http://${SUPERVISOR_HEALTH}/health
collector:
  healthUrl: http://${COLLECTOR_HEALTH}/
  effectiveConfigFile: ${STORAGE_DIR}/effective.yaml
update:
  # The Sigstore root that signatures are judged by: copy it from where the server has its own.
  trustedRootFile: /etc/myriarch/trusted_root.json
  # A floor that no server can go below:
  # minimumVersion: "0.158.0"
`;
