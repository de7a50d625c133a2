/** Licence texts of what an executable holds: this program, Node with everything inside it, and each bundled package. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const TEXT_FILE = /^(licen[cs]e|copying|notice)/i;

/** `packages` are folders below `root`. Throws when one of them tells no licence at all. */
export async function licencesOf(root: string, packages: readonly string[]): Promise<string> {
  const node = await nodeLicence(root);
  const own = await readIfThere(join(root, "LICENSE"));
  const parts = [
    section("myriarch", "Apache-2.0", own === undefined ? [] : [own]),
    ...(await Promise.all(packages.map(async (folder) => await licenceOf(join(root, folder))))),
    section(`Node.js ${process.version} and what it contains`, "MIT and others, below", [node]),
  ];
  return parts.join("\n");
}

async function licenceOf(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    name: string;
    version: string;
    license?: string;
  };
  const files = (await readdir(folder)).filter((file) => TEXT_FILE.test(file)).toSorted();
  const texts = await Promise.all(files.map(async (file) => await readFile(join(folder, file), "utf8")));
  if (texts.length === 0 && license === undefined) throw new Error(`${name} ${version} tells no licence`);
  return section(`${name} ${version}`, license ?? "see below", texts);
}

/** The text that comes with the Node executable; it names OpenSSL, V8, ICU and the others. */
async function nodeLicence(root: string): Promise<string> {
  const machine = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  for (const folder of ["node_modules/node/node_modules", "node_modules"]) {
    const text = await readIfThere(join(root, folder, machine, "LICENSE"));
    if (text !== undefined) return text;
  }
  throw new Error(`the licence of Node is not beside it (package ${machine})`);
}

async function readIfThere(path: string): Promise<string | undefined> {
  return await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

const section = (title: string, kind: string, texts: readonly string[]): string =>
  [`${"=".repeat(100)}\n${title} (${kind})\n${"=".repeat(100)}`, ...texts.map((text) => text.trim()), ""].join("\n\n");
