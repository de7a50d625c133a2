import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { signalProcess } from "../src/embedded/processes.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const FILES = ["scripts/launch.mjs", "scripts/install.mjs", "scripts/bin/myrctl.mjs", "src/embedded/lock-file.mjs"];
/** The launcher runs on the machine's own Node when there is one beside the pinned one. */
const MACHINE_NODE =
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !folder.includes("node_modules"))
    .map((folder) => join(folder, "node"))
    .find(existsSync) ?? process.execPath;

let clone: string;
let started: ChildProcess[];
beforeEach(async () => {
  clone = await realpath(await mkdtemp(join(tmpdir(), "myriarch-launch-")));
  started = [];
  for (const file of FILES) await cp(join(ROOT, file), join(clone, file));
  await writeLock("1");
  await mkdir(join(clone, "src", "bin"), { recursive: true });
  await writeFile(join(clone, "src", "bin", "myrctl.ts"), REPORT);
  await fakeNpm(INSTALL);
});
afterEach(async () => {
  for (const child of started) child.kill("SIGKILL");
  await rm(clone, { recursive: true, force: true });
});

/** A program that says how it was started; with `wait` it stays until a signal and says which. */
const REPORT = `
console.log(JSON.stringify({ node: process.version, args: process.argv.slice(2), cwd: process.cwd() }));
const [what, value] = process.argv.slice(2);
if (what === "exit") process.exitCode = Number(value);
if (what === "die") process.kill(process.pid, value);
if (what === "wait") {
  let signals = 0;
  const stay = setInterval(() => {}, 1000);
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(name, () => {
      signals += 1;
      console.log(name + " " + signals);
      clearInterval(stay);
    });
}
`;
/** What \`npm ci\` leaves behind when all is well; waits for the file \`hold\` to go, if there is one. */
const INSTALL = `
echo "$PWD $*" >> npm-calls
while [ -e hold ]; do sleep 0.02; done
rm -rf node_modules; mkdir -p node_modules/.bin node_modules/node
echo '{"version":"${process.versions.node}"}' > node_modules/node/package.json
ln -s ${process.execPath} node_modules/.bin/node`;

const writeLock = (revision: string) =>
  writeFile(
    join(clone, "package-lock.json"),
    JSON.stringify({ revision, packages: { "": {}, "node_modules/node": { version: process.versions.node } } }),
  );

async function fakeNpm(script: string): Promise<void> {
  await mkdir(join(clone, "fake"), { recursive: true });
  await writeFile(join(clone, "fake", "npm"), `#!/bin/sh\n${script}\n`);
  await chmod(join(clone, "fake", "npm"), 0o755);
}

function launch(args: string[], { file = "scripts/launch.mjs", cwd = clone, detached = false } = {}) {
  const env = { ...process.env, PATH: `${join(clone, "fake")}:/usr/bin:/bin` };
  const child = spawn(MACHINE_NODE, [join(clone, file), ...args], { cwd, env, detached });
  started.push(child);
  const said = { out: "", err: "" };
  child.stdout.on("data", (part: Buffer) => (said.out += part.toString()));
  child.stderr.on("data", (part: Buffer) => (said.err += part.toString()));
  const ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  return { child, said, ended };
}

const npmCalls = async (): Promise<number> =>
  existsSync(join(clone, "npm-calls"))
    ? (await readFile(join(clone, "npm-calls"), "utf8")).trim().split("\n").length
    : 0;

async function run(args: string[], options?: Parameters<typeof launch>[1]) {
  const { said, ended } = launch(args, options);
  const [code, signal] = await ended;
  return { code, signal, ...said };
}

describe("installing", () => {
  test("a clone without packages is installed once, and standard output stays the program's", async () => {
    const first = await run(["myrctl", "agents", "list"]);
    expect(first).toMatchObject({ code: 0, err: expect.stringContaining("npm ci") });
    expect(JSON.parse(first.out)).toMatchObject({ node: process.version, args: ["agents", "list"] });
    expect(await readFile(join(clone, "npm-calls"), "utf8")).toBe(
      `${clone} ci --no-audit --no-fund --loglevel=error\n`,
    );
    expect(await run(["myrctl"])).toMatchObject({ code: 0, err: "" });
    expect(await npmCalls()).toBe(1);
  });

  test("two starts at once install once: the second waits and says for whom", async () => {
    await writeFile(join(clone, "hold"), "");
    const first = launch(["myrctl"]);
    await expect.poll(npmCalls, { timeout: 10_000 }).toBe(1);
    const second = launch(["myrctl"]);
    await expect.poll(() => second.said.err, { timeout: 10_000 }).toContain(`process ${first.child.pid}`);
    await rm(join(clone, "hold"));
    expect([(await first.ended)[0], (await second.ended)[0]]).toEqual([0, 0]);
    expect(await npmCalls()).toBe(1);
  });

  test("an installer that was killed leaves a lock that the next start takes over", async () => {
    await writeFile(join(clone, "hold"), "");
    const first = launch(["myrctl"], { detached: true });
    await expect.poll(npmCalls, { timeout: 10_000 }).toBe(1);
    process.kill(-(first.child.pid ?? 0), "SIGKILL");
    await first.ended;
    await rm(join(clone, "hold"));
    expect(await run(["myrctl"])).toMatchObject({ code: 0 });
  });

  test.each([
    ["the lock file changed to other versions", 2, () => writeOtherLock()],
    ["the pinned Node is gone", 2, () => rm(join(clone, "node_modules", ".bin", "node"))],
    ["the packages are gone", 2, () => rm(join(clone, "node_modules"), { recursive: true })],
    ["the lock file changed and the tree fits it", 1, () => writeLock("2")],
    ["nothing changed", 1, () => Promise.resolve()],
  ])("when %s, npm has run %s times", async (_, calls, change) => {
    await run(["myrctl"]);
    await change();
    await run(["myrctl"]);
    expect(await npmCalls()).toBe(calls);
  });

  const writeOtherLock = () =>
    writeFile(
      join(clone, "package-lock.json"),
      JSON.stringify({
        packages: { "node_modules/node": { version: process.versions.node }, "node_modules/pg": { version: "8.0.0" } },
      }),
    );

  test("a tree that somebody installed by hand is checked and kept", async () => {
    execFileSync("/bin/sh", [join(clone, "fake", "npm")], { cwd: clone });
    expect(await run(["myrctl"])).toMatchObject({ code: 0, err: "" });
    expect(await npmCalls()).toBe(1);
    expect(existsSync(join(clone, "node_modules", ".myriarch-stamp"))).toBe(true);
  });

  test("install scripts that did not run are named in one line, and the tree is not stamped", async () => {
    await fakeNpm(
      `mkdir -p node_modules/node; echo '{"version":"${process.versions.node}"}' > node_modules/node/package.json`,
    );
    const { code, err } = await run(["myrctl"]);
    expect(code).toBe(1);
    expect(err.trim().split("\n").at(-1)).toMatch(/^myriarch: Node .* --ignore-scripts=false/);
    expect(existsSync(join(clone, "node_modules", ".myriarch-stamp"))).toBe(false);
  });

  test("a failed npm ci is the launcher's failure, in one line", async () => {
    await fakeNpm("echo no network >&2; exit 7");
    const { code, err } = await run(["myrctl"]);
    expect(code).toBe(1);
    expect(err).toContain("no network\nmyriarch: npm ci failed (7)");
  });
});

describe("a program that stays until it should end", () => {
  const STAYS = `
    import { untilEnd } from "../embedded/until-end.ts";
    const ended = untilEnd(() => { console.log("insisted"); process.exit(130); });
    console.log("stays");
    console.log((await ended).reason);
    if (process.argv[2] === "slowly") setInterval(() => {}, 1000);
  `;
  const stay = async (...args: string[]) => {
    await cp(join(ROOT, "src/embedded/until-end.ts"), join(clone, "src/embedded/until-end.ts"));
    await writeFile(join(clone, "src", "bin", "myrctl.ts"), STAYS);
    const launched = launch(["myrctl", ...args], { detached: true });
    await expect.poll(() => launched.said.out, { timeout: 10_000 }).toContain("stays");
    return { ...launched, group: -(launched.child.pid ?? 0) };
  };

  test("ends when the launcher above it was killed -9 and could pass nothing on", async () => {
    const { child, said } = await stay();
    child.kill("SIGKILL");
    await expect.poll(() => said.out, { timeout: 10_000 }).toBe("stays\nlauncher gone\n");
  });

  test("takes one keystroke that arrives several times as one, and a later one as insisting", async () => {
    const { said, ended, group } = await stay("slowly");
    process.kill(group, "SIGINT");
    process.kill(group, "SIGINT");
    await expect.poll(() => said.out, { timeout: 10_000 }).toBe("stays\ninterrupt\n");
    const insistAgain = setInterval(() => signalProcess(group, "SIGINT"), 100);
    try {
      // Each of these is within 300 ms of the one before: what counts is the time since the first.
      expect(await ended).toEqual([130, null]);
    } finally {
      clearInterval(insistAgain);
    }
    expect(said.out).toBe("stays\ninterrupt\ninsisted\n");
  });
});

describe("running", () => {
  test("the caller's working directory and arguments reach the program, also from a bin entry by a link", async () => {
    const elsewhere = await realpath(await mkdtemp(join(tmpdir(), "myriarch-cwd-")));
    try {
      await symlink(join(clone, "scripts", "bin", "myrctl.mjs"), join(clone, "linked"));
      const { out } = await run(["--json", "a b"], { file: "linked", cwd: elsewhere });
      expect(JSON.parse(out)).toMatchObject({ args: ["--json", "a b"], cwd: elsewhere });
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });

  test("it ends as the program ends: by exit code, or by signal", async () => {
    expect(await run(["myrctl", "exit", "7"])).toMatchObject({ code: 7, signal: null });
    expect(await run(["myrctl", "die", "SIGKILL"])).toMatchObject({ code: null, signal: "SIGKILL" });
    expect(await run(["myrctl", "die", "SIGTERM"])).toMatchObject({ code: null, signal: "SIGTERM" });
  });

  test.each([
    ["TERM to the launcher is passed on", "SIGTERM", false],
    ["HUP to the launcher is passed on", "SIGHUP", false],
    ["Ctrl-C, which the terminal sends to the whole group, arrives once", "SIGINT", true],
  ] as const)("%s", async (_, signal, toGroup) => {
    const { child, said, ended } = launch(["myrctl", "wait"], { detached: true });
    await expect.poll(() => said.out, { timeout: 10_000 }).toContain("args");
    process.kill(toGroup ? -(child.pid ?? 0) : (child.pid ?? 0), signal);
    expect(await ended).toEqual([0, null]);
    expect(said.out.split("\n").slice(1)).toEqual([`${signal} 1`, ""]);
  });

  test("an unknown program is refused before anything is installed, with the names there are", async () => {
    for (const args of [["nothing-such"], ["../../etc/passwd"], []]) {
      const { code, err } = await run(args);
      expect(code).toBe(1);
      expect(err).toMatch(/One of: quickstart, test, check, bench, build-updater, chaos, conformance, myrctl\n$/);
    }
    expect(await npmCalls()).toBe(0);
  });
});
