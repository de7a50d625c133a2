/**
 * `npm run build:updater`: the host program as one file, `dist/myriarch-updater-<version>-<platform>-<arch>`, for hosts
 * without Node. It is the Node executable of this repository with the bundled program inside (Node's "single executable
 * application"), so it is made on the platform that it is for. Nothing is stripped: the blob is found by a note in the
 * ELF file, and stack traces of Node stay readable.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build, type Plugin } from "esbuild";
import { inject } from "postject";
import { licencesOf } from "./licences.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** What Node looks for in itself, to know whether something was injected (its documentation, "Single executable"). */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
const RESOURCE = "NODE_SEA_BLOB";
/**
 * The program waits most of its life: a young generation of 1 MiB (garbage that is never collected is memory at rest), and
 * no optimising compilers, whose code and threads would stay for loops that it does not have (hashes are Node's own).
 */
const V8_FLAGS = [
  "--max-semi-space-size=1",
  "--no-opt",
  "--no-maglev",
  "--no-sparkplug",
  "--optimize-for-size",
  "--expose-gc",
];

/** Translations of messages that nobody reads: a third of what would be loaded. */
const englishOnly: Plugin = {
  name: "english-only",
  setup(building) {
    building.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

/** Makes the executable in `folder`; the result is its path. */
export async function buildExecutable(folder: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { version: string };
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, ".build-"));
  try {
    const packages = await bundle(join(work, "updater.cjs"));
    await writeFile(join(work, "version"), version);
    await writeFile(join(work, "licences"), await licencesOf(ROOT, packages));
    const program = join(work, "program");
    await copyFile(process.execPath, program);
    await chmod(program, 0o755);
    // it warns of names of notes that it cannot resolve; they are the executable's own, and stay
    await inject(program, RESOURCE, await makeBlob(work), {
      sentinelFuse: FUSE,
      ...(process.platform === "darwin" ? { machoSegmentName: "NODE_SEA" } : {}),
    });
    const suffix = process.platform === "win32" ? ".exe" : "";
    const path = join(folder, `myriarch-updater-${version}-${process.platform}-${process.arch}${suffix}`);
    await rename(program, path);
    return path;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** One script of everything that the program reaches; the result are the folders of the packages in it. */
async function bundle(outfile: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ["src/bin/myriarch-updater.ts"],
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    // names stay: a stack trace of a host must say where it happened
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none", // `--licences` has the whole texts
    metafile: true,
    outfile,
    plugins: [englishOnly],
    logLevel: "warning",
    logOverride: { "empty-import-meta": "silent" }, // asked for only when it runs from its source
  });
  const inside = Object.entries(metafile.outputs).flatMap(([, { inputs }]) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
  const folders = inside.map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
  return [...new Set(folders.filter((folder) => folder !== undefined))].toSorted();
}

async function makeBlob(work: string): Promise<Buffer> {
  const config = {
    main: join(work, "updater.cjs"),
    output: join(work, "blob"),
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    execArgv: V8_FLAGS,
    execArgvExtension: "none", // NODE_OPTIONS of whoever starts it must not change what runs as root
    assets: { version: join(work, "version"), licences: join(work, "licences") },
  };
  await writeFile(join(work, "sea.json"), JSON.stringify(config));
  // with the same flags: compiled code is taken from the cache only by a V8 that was started like the one that made it
  await promisify(execFile)(process.execPath, [...V8_FLAGS, "--experimental-sea-config", join(work, "sea.json")]);
  return await readFile(join(work, "blob"));
}

/** Writes `<path>.sha256`, as `sha256sum -c` reads it; the result is the sum. */
export async function writeSum(path: string): Promise<string> {
  const sum = createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
  await writeFile(`${path}.sha256`, `${sum}  ${basename(path)}\n`);
  return sum;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = await buildExecutable(process.argv[2] ?? join(ROOT, "dist"));
  console.log(`${path} (sha256 ${await writeSum(path)})`);
}
