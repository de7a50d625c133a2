/** The environment of our git processes: nothing of the account's own configuration, no prompts, few transports. */
import type { GitRemoteSettings } from "./git-remote.ts";

export type GitCredentials = {
  /** Read at each fetch, so that a rotated token works at once. */
  token?: (() => Promise<string>) | undefined;
  sshKeyFile?: string | undefined;
  knownHostsFile?: string | undefined;
};
/** A remote, and how long it may take. */
export type GitPeer = Pick<GitRemoteSettings, "url" | "timeoutMs" | "credentials">;
export type GitAccess = {
  env: Record<string, string>;
  /** Options before the command. */
  config: string[];
  /** Texts that may not appear in what git says. */
  secrets: string[];
};

/** What a machine needs to reach its network; everything else of the environment stays outside. */
const PASSED_ON = [
  "PATH",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "GIT_SSL_CAINFO",
  "GIT_SSL_CAPATH",
  "SSH_AUTH_SOCK",
  "TMPDIR",
];

/** For commands that read the clone. */
export const localEnvironment = (): Record<string, string> => ({
  ...Object.fromEntries(
    PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  ),
  HOME: "/nonexistent",
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
});

/** For the commands that talk to the remote. */
export async function gitAccess({ url, timeoutMs, credentials }: GitPeer): Promise<GitAccess> {
  const seconds = Math.max(1, Math.ceil(timeoutMs / 1000));
  const token = (await credentials?.token?.())?.trim() ?? "";
  const isWeb = /^https?:\/\//.test(url);
  const user = (isWeb && decodeURIComponent(new URL(url).username)) || "x-access-token";
  const authorization = Buffer.from(`${user}:${token}`).toString("base64");
  const usesToken = token !== "" && isWeb;
  return {
    secrets: usesToken ? [token, authorization] : [],
    config: [
      "core.hooksPath=/dev/null",
      "gc.auto=0",
      "credential.helper=",
      // should this worker die, a git that waits for a silent server ends by itself
      "http.lowSpeedLimit=1",
      `http.lowSpeedTime=${seconds}`,
      // a header for one origin must not travel to another
      `http.followRedirects=${usesToken ? "false" : "initial"}`,
    ].flatMap((setting) => ["-c", setting]),
    env: {
      ...certificates(),
      ...localEnvironment(),
      GIT_ALLOW_PROTOCOL: "https:http:ssh:git:file",
      GIT_SSH_COMMAND: sshCommand(seconds, credentials),
      // by environment, not by argument: arguments are readable by every account
      ...(usesToken && {
        GIT_CONFIG_COUNT: "1",
        GIT_CONFIG_KEY_0: `http.${new URL(url).origin}/.extraHeader`,
        GIT_CONFIG_VALUE_0: `Authorization: Basic ${authorization}`,
      }),
    },
  };
}

/** The usual variables as git's own: its TLS library may not know them. */
const certificates = (): Record<string, string> => {
  const { SSL_CERT_FILE: file, SSL_CERT_DIR: folder } = process.env;
  return { ...(file && { GIT_SSL_CAINFO: file }), ...(folder && { GIT_SSL_CAPATH: folder }) };
};

function sshCommand(seconds: number, credentials: GitCredentials | undefined): string {
  const options = [
    "BatchMode=yes",
    `ConnectTimeout=${seconds}`,
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
    "StrictHostKeyChecking=yes",
    ...(credentials?.knownHostsFile === undefined ? [] : [`UserKnownHostsFile=${sshPath(credentials.knownHostsFile)}`]),
    ...(credentials?.sshKeyFile === undefined
      ? []
      : [`IdentityFile=${sshPath(credentials.sshKeyFile)}`, "IdentitiesOnly=yes"]),
  ];
  return ["ssh -F /dev/null", ...options.map((option) => `-o ${quote(option)}`)].join(" ");
}

/** ssh splits at spaces and expands percent signs. */
const sshPath = (path: string): string => `"${path.replaceAll("%", "%%")}"`;

/** git hands the command to a shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
