/** A secret in a configuration: where to read it, hardly ever the value itself. */
import { failure } from "../errors.ts";

export type Secret = { kind: "file"; path: string } | { kind: "env"; name: string } | { kind: "inline"; value: string };

/** What reading needs from outside. */
export type SecretSource = {
  env: Readonly<Record<string, string | undefined>>;
  readFile: (path: string) => Promise<string>;
};

const MAX_CHARS = 65_536;

/**
 * The secret's text without surrounding white space. Fails with `config_invalid` when it cannot be read or is empty; the
 * failure names the file or variable, never the value.
 */
export async function readSecret(secret: Secret, source: SecretSource): Promise<string> {
  const value = (await rawText(secret, source)).trim();
  if (value === "" || value.length > MAX_CHARS)
    throw failure("config_invalid", { issues: `${describeSecret(secret)} is empty or too long` });
  return value;
}

async function rawText(secret: Secret, source: SecretSource): Promise<string> {
  if (secret.kind === "inline") return secret.value;
  if (secret.kind === "env") {
    const value = source.env[secret.name];
    if (value !== undefined) return value;
    throw failure("config_invalid", { issues: `the environment variable ${secret.name} is not set` });
  }
  try {
    return await source.readFile(secret.path);
  } catch (error) {
    throw failure("config_invalid", { issues: `the secret file ${secret.path} cannot be read` }, error);
  }
}

/** For `check-config` and logs: says where the secret is, never what it is. */
export function describeSecret(secret: Secret): string {
  if (secret.kind === "file") return `file ${secret.path}`;
  return secret.kind === "env" ? `environment variable ${secret.name}` : "inline (redacted)";
}
