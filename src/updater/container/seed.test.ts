import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ImagePrecedence } from "../../domain/update/image-seed.ts";
import { judgeVersion } from "../../domain/update/downgrade.ts";
import type { SigningAuthority } from "../../signing/authority.ts";
import {
  BINARY,
  openTestAuthority,
  removeAuthority,
  script,
  sha256,
  TestHost,
} from "../../../test/support/updater-host.ts";
import { portsOf, shorten } from "../fault-points.ts";
import type { HostDeps } from "../install.ts";
import { recover } from "../recover.ts";
import { sweepState } from "../state-file.ts";
import { versionIn } from "./image.ts";
import { openContainer } from "./mode.ts";
import { SEED_MEMORY_FILE } from "./seed-memory.ts";

let authority: SigningAuthority;
let host: TestHost;
beforeAll(async () => void (authority = await openTestAuthority()));
afterAll(() => removeAuthority(authority));
/** A volume on 0.160.0 that does not run yet, as at the start of a container. */
beforeEach(() => {
  host = new TestHost();
  host.runs = undefined;
  mkdirSync(imageDir());
  image("0.161.0");
});
afterEach(() => host.remove());

const imageDir = () => join(host.root, "image");
function image(version: string, more = ""): void {
  rmSync(join(imageDir(), BINARY), { force: true });
  writeFileSync(join(imageDir(), BINARY), script(version, more), { mode: 0o755 });
}
const forever = new AbortController().signal;
type Options = { over?: Partial<HostDeps>; precedence?: ImagePrecedence; signal?: AbortSignal };

/** What a start of the container does before it connects. */
async function start({ over = {}, precedence = "newer", signal = forever }: Options = {}) {
  const deps = host.deps({ prefix: "http://none/" }, authority, over);
  const folder = host.stateFolder(deps.files);
  await sweepState(folder);
  const settings = { container: { imageDir: imageDir(), imagePrecedence: precedence } };
  const container = openContainer(settings, deps, folder);
  const state = host.state(deps.files);
  const backoff = await host.backoff(deps.files);
  const recovered = await recover({ host: deps, state, backoff, signal, ...container });
  const imageVersion = await container?.seed(signal);
  if (!(await deps.service.isRunning())) await deps.service.start();
  return { recovered, imageVersion };
}
const whole = () => ({ active: host.active, runs: host.runs, journal: host.journalExists, leftovers: host.leftovers });
const healthy = (version: string) => ({ active: version, runs: version, journal: false, leftovers: [] });
/** A restart of the container: nothing runs any more. */
const ended = () => void (host.runs = undefined);
const said = (text: string) => host.log.filter((entry) => entry.text.includes(text)).length;

describe("a seed", () => {
  it("replaces an older active version by the steps of an update, with the way back in its marker", async () => {
    expect((await start()).imageVersion).toBe("0.161.0");
    expect(whole()).toEqual(healthy("0.161.0"));
    expect(host.marker("0.161.0")).toMatchObject({ source: "image", previousVersion: "0.160.0", archiveSha256: "" });
    expect(host.calls.slice(0, 2)).toEqual(["stop 0.160.0", "start 0.161.0"]);
    const { previousVersion = "" } = host.marker("0.161.0");
    const policy = { allowDowngrade: false };
    expect(judgeVersion("v0.160.0", { version: "0.161.0", previousVersion }, policy)).toEqual({ allowed: true });
    expect(judgeVersion("v0.159.0", { version: "0.161.0", previousVersion }, policy)).toMatchObject({ allowed: false });
  });

  it("fills an empty volume", async () => {
    host.empty();
    await start();
    expect(whole()).toEqual(healthy("0.161.0"));
    expect(host.marker("0.161.0")).toMatchObject({ source: "image", previousVersion: "" });
  });

  it("asks a binary for its version once, however often the container starts", async () => {
    const asked = join(host.root, "asked");
    image("0.161.0", `[ "$1" = --version ] && echo x >> ${asked}`);
    await start();
    const first = readFileSync(asked, "utf8");
    ended();
    await start();
    expect(readFileSync(asked, "utf8")).toBe(first);
    writeFileSync(join(host.stateDir, SEED_MEMORY_FILE), "{"); // a lost memory only asks again
    ended();
    await start();
    expect(readFileSync(asked, "utf8")).toBe(`${first}x\n`);
    expect(whole()).toEqual(healthy("0.161.0"));
  });

  it("that does not become healthy is taken back and not tried again, until the image has other bytes", async () => {
    host.healthOf = (version) => (version === "0.161.0" ? 503 : 200);
    await start();
    expect(whole()).toEqual(healthy("0.160.0"));
    const starts = () => host.calls.filter((call) => call === "start 0.161.0").length;
    expect(starts()).toBe(1);
    ended();
    await start();
    expect([starts(), whole()]).toEqual([1, healthy("0.160.0")]);
    host.healthOf = () => 200;
    image("0.161.0", "# mended");
    ended();
    await start();
    expect(whole()).toEqual(healthy("0.161.0"));
  });

  it("that is unhealthy on an empty volume stays: there is nothing else to run, and the journal says so", async () => {
    host.empty();
    host.healthOf = () => 503;
    await start();
    expect(whole()).toEqual({ ...healthy("0.161.0"), journal: true });
    expect(said("the image's collector failed")).toBe(1);
    host.healthOf = () => 200;
    ended();
    await start();
    expect(whole()).toEqual(healthy("0.161.0"));
  });

  it.each<[string, () => void, RegExp]>([
    ["no binary", () => rmSync(join(imageDir(), BINARY)), /preflight: the image has no collector at .*imageDir/],
    ["a binary that names no version", () => image("latest"), /preflight: .* --version names no version/],
    ["a binary that fails", () => image("0.161.0", "exit 3"), /preflight: .* --version names no version/],
    [
      "a binary that is none",
      () => writeFileSync(join(imageDir(), BINARY), "\0"),
      /preflight: .*(cannot be run|names no)/,
    ],
  ])("from an image with %s leaves the volume as it is", async (_, spoil, message) => {
    spoil();
    expect((await start()).imageVersion).toBeUndefined();
    expect(whole()).toEqual(healthy("0.160.0"));
    expect(host.log.some(({ level, text }) => level === "error" && message.test(text))).toBe(true);
  });

  const full = () => {
    const { files, service } = portsOf(async (kind, target, work) => {
      if (kind === "write" && target.includes(".staging-"))
        throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC", syscall: "write" });
      return await work();
    });
    return { files, service: service(host.service()) };
  };

  it("that changes nothing leaves the journal of an update that still is to be mended", async () => {
    host.healthOf = () => 503;
    const entry = { phase: "swapping", version: "0.160.0", archiveSha256: "", previous: null, cause: "" };
    const binarySha256 = sha256(script("0.160.0"));
    writeFileSync(join(host.stateDir, "journal.json"), JSON.stringify({ ...entry, binarySha256 }));
    expect((await start({ over: full() })).recovered).toMatchObject({ ok: false });
    expect(whole()).toEqual({ ...healthy("0.160.0"), journal: true });
  });

  it("that the disk has no room for leaves the volume as it is, and is tried again at the next start", async () => {
    await start({ over: full() });
    expect(whole()).toEqual(healthy("0.160.0"));
    expect(said("disk_full")).toBe(1);
    ended();
    await start();
    expect(whole()).toEqual(healthy("0.161.0"));
  });

  it("whose wait for health is cut short by the container's end keeps the journal; the next start finishes it", async () => {
    const ending = new AbortController();
    host.healthOf = (version) => {
      if (version === "0.161.0") ending.abort(new Error("received SIGTERM"));
      return 200;
    };
    await expect(start({ signal: ending.signal })).rejects.toThrow("received SIGTERM");
    expect(host.journalExists).toBe(true);
    host.healthOf = () => 200;
    ended();
    expect((await start()).recovered).toMatchObject({ repair: "finish", ok: true });
    expect(whole()).toEqual(healthy("0.161.0"));
  });
});

/** Ports that die before their `at`-th effect: neither it nor any later one happens. */
function mortal(at: number, names: string[] = []) {
  const folders = { state: host.stateDir, install: host.installDir };
  const { files, service } = portsOf(async (kind, target, work) => {
    if (names.length + 1 >= at) throw new Error("dead");
    names.push(`${kind} ${shorten(target, folders)}`);
    return await work();
  });
  return { files, service: service(host.service()) };
}

describe("killed at each effect, the next start brings one healthy version", () => {
  const scenes: [string, () => void, string][] = [
    ["a seed over a version", () => undefined, "0.161.0"],
    ["a seed of an empty volume", () => host.empty(), "0.161.0"],
    ["a seed that is taken back", () => (host.healthOf = (version) => (version === "0.161.0" ? 503 : 200)), "0.160.0"],
  ];
  it.each(scenes)("%s", { timeout: 300_000 }, async (_, set, expected) => {
    set();
    const names: string[] = [];
    await start({ over: mortal(Number.POSITIVE_INFINITY, names) });
    expect(names.length).toBeGreaterThan(30);
    for (let at = 1; at <= names.length; at++) {
      host.remove();
      host = new TestHost();
      host.runs = undefined;
      mkdirSync(imageDir());
      image("0.161.0");
      set();
      await start({ over: mortal(at) }).catch(() => undefined);
      ended();
      await start();
      expect([names[at - 1], whole()]).toEqual([names[at - 1], healthy(expected)]);
      // cut off, finished, found unhealthy: it is not begun once more by the same start
      expect(host.calls.filter((call) => call === "start 0.161.0").length).toBeLessThanOrEqual(2);
    }
  });
});

it.each([
  ["otelcol-contrib version 0.161.0\n", "0.161.0"],
  ["otelcol version v1.2.3-rc.1 (linux/amd64)", "1.2.3-rc.1"],
  ["version: 0.161", undefined],
  ["", undefined],
])("the version in %j is %s", (output, version) => expect(versionIn(output)).toBe(version));
