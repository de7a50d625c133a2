/**
 * The five keys of a local signing authority, kept in one file of its folder. Certificates are made anew by each
 * process from the same keys, so that what a later process signs verifies with the root that the first one published.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, type KeyObject } from "node:crypto";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";

const KEY_NAMES = ["certificates", "certificateLog", "rekor1", "rekor2", "timestamps"] as const;
type KeyName = (typeof KEY_NAMES)[number];
export type KeyPair = { publicKey: KeyObject; privateKey: KeyObject };
export type AuthorityKeys = Readonly<Record<KeyName, KeyPair>>;

const pair = (): KeyPair => generateKeyPairSync("ec", { namedCurve: "P-256" });

export function freshKeys(): AuthorityKeys {
  return {
    certificates: pair(),
    certificateLog: pair(),
    rekor1: pair(),
    rekor2: pair(),
    timestamps: pair(),
  };
}

/** Reads the keys of a folder, or makes them there (folder 0700, file 0600). */
export async function openKeys(folder: string): Promise<AuthorityKeys> {
  const file = join(folder, "keys.json");
  const stored = await readIfPresent(file);
  if (stored !== undefined) return fromJson(stored);
  const keys = freshKeys();
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeWhole(file, toJson(keys), 0o600);
  return keys;
}

/** Writes a file so that readers see the whole content or none of it. */
export async function writeWhole(file: string, content: string | Uint8Array, mode: number): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString("hex")}`;
  const handle = await open(temporary, "wx", mode);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
}

/** The text of a file; undefined when it does not exist. */
export async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function toJson(keys: AuthorityKeys): string {
  const pems = KEY_NAMES.map((name) => [name, keys[name].privateKey.export({ type: "pkcs8", format: "pem" })]);
  return JSON.stringify(Object.fromEntries(pems), undefined, 2);
}

function fromJson(text: string): AuthorityKeys {
  const pems = JSON.parse(text) as Partial<Record<KeyName, string>>;
  const read = (name: KeyName): KeyPair => {
    const pem = pems[name];
    if (pem === undefined) throw new Error(`keys.json has no key "${name}"`);
    const privateKey = createPrivateKey(pem);
    return { privateKey, publicKey: createPublicKey(privateKey) };
  };
  return {
    certificates: read("certificates"),
    certificateLog: read("certificateLog"),
    rekor1: read("rekor1"),
    rekor2: read("rekor2"),
    timestamps: read("timestamps"),
  };
}
