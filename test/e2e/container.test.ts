/** The updater as process 1 of a container: seeds, restarts with other images, stops, and who waits for orphans. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { BRAND } from "../../src/domain/brand.ts";
import { textAttribute, type AgentToServer } from "../../src/protocol/messages.ts";
import type { SigningAuthority } from "../../src/signing/authority.ts";
import { ContainerHost, namespaceFlags, type StartOptions } from "../support/updater-container.ts";
import {
  openTestAuthority,
  removeAuthority,
  serveArchives,
  type Archive,
  type ArchiveServer,
} from "../support/updater-host.ts";
import { demoArchive } from "../support/updater-process.ts";

if (namespaceFlags === undefined) console.warn("skipped: container mode (unshare may not make a pid namespace here)");

let authority: SigningAuthority;
let newer: Archive;
let older: Archive;
let archives: ArchiveServer;
let container: ContainerHost;

beforeAll(async () => {
  authority = await openTestAuthority();
  newer = await demoArchive(authority, "0.162.0");
  older = await demoArchive(authority, "0.160.0");
  archives = await serveArchives([newer, older]);
});
afterAll(async () => {
  removeAuthority(authority);
  await archives.close();
});
beforeEach(async () => void (container = await ContainerHost.create(archives, authority, "0.161.0")));
afterEach(async () => await container.destroy());

const { attributes } = BRAND;
const told = (name: string) => {
  const { agentDescription } = container.host.opamp.stateOf(true);
  return agentDescription && textAttribute(agentDescription.nonIdentifyingAttributes, name);
};
/** The container runs a version: link, bytes, and what the collector itself reports. */
const runs = async (version: string): Promise<void> => {
  const { host } = container;
  expect([host.active, host.binaryVersion, host.journalExists]).toEqual([
    version,
    `otelcol-contrib version ${version}`,
    false,
  ]);
  await host.opamp.until(`collector ${version}`, () => host.reportedVersion === version);
};
/** Starts the container; answers once the updater has told the server who it is. */
const start = async (options: StartOptions = {}): Promise<void> => {
  const { opamp } = container.host;
  const before = opamp.messages.length;
  const isUpdater = ({ agentDescription: it }: AgentToServer) =>
    it !== undefined && textAttribute(it.identifyingAttributes, "service.name") === BRAND.updaterServiceName;
  await container.start(options);
  await opamp.until("updater", () => opamp.messages.slice(before).some(isUpdater));
};
const stop = async (): Promise<void> => expect(await container.stop()).toEqual({ code: 0, signal: null });
const restart = async (): Promise<void> => {
  await stop();
  await start();
};

describe.skipIf(namespaceFlags === undefined)("the seed", () => {
  it("an empty volume takes the image's collector; marker, attributes and the container's log say so", async () => {
    await start();
    await runs("0.161.0");
    expect(container.host.marker("0.161.0")).toMatchObject({ source: "image", previousVersion: "", archiveSha256: "" });
    expect([told(attributes.installMethod), told(attributes.imageCollectorVersion)]).toEqual(["container", "0.161.0"]);
    expect(container.host.attempt).toBeUndefined(); // a seed is no attempt of the server's
    expect(container.stderr).toContain("the image's collector is active");
    // what the supervisor says is in the container's log, and in its file for later
    const said = '"msg":"collector described"';
    expect(container.stdout).toContain(said);
    expect(readFileSync(join(container.host.stateDir, "supervisor.log"), "utf8")).toContain(said);
  });

  it("a newer image replaces what is active, an older one does not; the server may take the newer one a step back", async () => {
    await start();
    await stop();
    await container.image("0.162.0");
    await start();
    await runs("0.162.0");
    expect(container.host.marker("0.162.0")).toMatchObject({ source: "image", previousVersion: "0.161.0" });
    await stop();
    await container.image("0.160.0");
    await start();
    await runs("0.162.0");
    expect(told(attributes.imageCollectorVersion)).toBe("0.160.0");
  });

  it("the one step back is allowed from a seed, and a restart with the same image does not undo it", async () => {
    await container.image("0.160.0");
    await start();
    await stop();
    await container.image("0.161.0");
    await start();
    await runs("0.161.0");
    container.host.offer(older);
    await container.host.attemptEnds("succeeded", "0.160.0");
    await runs("0.160.0");
    await restart();
    await runs("0.160.0");
  });

  it("an update by an offer stays when the container starts again with its older image", async () => {
    await start();
    container.host.offer(newer);
    await container.host.attemptEnds("succeeded", "0.162.0");
    await restart();
    await runs("0.162.0");
    expect(container.host.marker("0.162.0")).toMatchObject({ source: "package", previousVersion: "0.161.0" });
    expect(container.host.attempt).toMatchObject({ version: "0.162.0", status: "succeeded" });
  });

  it("imagePrecedence always takes an older image, never takes none but the first", async () => {
    await start();
    await stop();
    container.configure({ imagePrecedence: "always" });
    await container.image("0.160.0");
    await start();
    await runs("0.160.0");
    expect(container.host.marker("0.160.0")).toMatchObject({ source: "image", previousVersion: "0.161.0" });
    await stop();
    container.configure({ imagePrecedence: "never" });
    await container.image("0.162.0");
    await start();
    await runs("0.160.0");
  });

  it("an image that does not become healthy is taken back, and not tried again at the next start", async () => {
    await start();
    await stop();
    await container.image("0.163.0", 1);
    await start();
    await runs("0.161.0");
    expect(container.stderr).toMatch(/health: .*503/);
    expect(container.memory.collectors.at(-1)).toMatchObject({ version: "0.163.0", history: "taken_back" });
    await restart();
    await runs("0.161.0");
    expect(container.stderr).toContain("was taken back before");
  });

  it("an image without a usable collector keeps nothing from running", async () => {
    await start();
    await stop();
    await container.image("not-a-version");
    await start();
    await runs("0.161.0");
    expect(container.stderr).toContain("names no version");
    expect(told(attributes.imageCollectorVersion)).toBeUndefined();
  });
});

/** One of each kind of moment; `seed.test.ts` dies at every effect. */
const MOMENTS = [
  "after rename <install>/versions/0.162.0#1",
  "after rename <state>/journal.json#1",
  "after stop#1",
  "after rename <install>/current#1",
  "after start#1",
  "before unlink <state>/journal.json#1",
];

describe.skipIf(namespaceFlags === undefined)("killed with its whole namespace while it seeds", () => {
  it.each(MOMENTS)("%s: the next start runs the seed, healthy", async (label) => {
    await start();
    await stop();
    await container.image("0.162.0");
    container.launch({ env: { MYRIARCH_FAULT: `kill:${label}` } });
    expect((await container.ended()).code).toBe(137);
    expect(await container.host.processes()).toEqual({ supervisors: [], collectors: [] });
    await start();
    await runs("0.162.0");
    expect(container.host.marker("0.162.0")).toMatchObject({ source: "image", previousVersion: "0.161.0" });
    expect(container.host.attempt).toBeUndefined();
  });
});

describe.skipIf(namespaceFlags === undefined)("process 1", () => {
  it("collects whoever lost its parent: no zombie stays", async () => {
    await start();
    await runs("0.161.0");
    container.exec("for i in $(seq 20); do (true &) ; done; sh -c 'sh -c \"true & true\" &'; true");
    const [supervisor] = (await container.host.processes()).supervisors;
    process.kill(supervisor?.pid ?? 0, "SIGKILL"); // its collector is an orphan then, and is ended by us
    await container.says("ended by itself");
    await container.says("ending a leftover process");
    await container.host.untilProcesses({ supervisors: 1, collectors: 1 });
    expect(container.zombies).toBe(0);
  });

  it("SIGTERM ends supervisor and collector first, then all with code 0; SIGHUP and a second SIGTERM change nothing", async () => {
    await start();
    await runs("0.161.0");
    await container.host.untilProcesses({ supervisors: 1, collectors: 1 });
    container.signal("SIGHUP");
    process.kill(container.updater, "SIGHUP");
    const began = performance.now();
    container.signal("SIGTERM");
    await container.says('"msg":"stopping"');
    container.signal("SIGTERM");
    expect(await container.ended()).toEqual({ code: 0, signal: null });
    expect(performance.now() - began).toBeLessThan(60_000);
    expect(container.stderr).not.toMatch(/killing it|leftover/);
    expect(await container.host.processes()).toEqual({ supervisors: [], collectors: [] });
  });

  it.skipIf(process.getuid?.() !== 0)("runs on a read-only root and as another account", async () => {
    container.giveTo(65_534);
    // only the volume can be written to, apart from /tmp of its own (and /proc, which is the namespace's)
    const { root } = container.host;
    const mounts = [
      "mount -n --make-rprivate /",
      `mkdir -p /run/myriarch-volume && mount -n --bind ${root} /run/myriarch-volume`,
      "mount -n -o remount,bind,ro /",
      "mount -n -t tmpfs none /tmp",
      `mkdir -p ${root} && mount -n --move /run/myriarch-volume ${root}`,
      "if touch /usr/.probe 2>/dev/null; then exit 9; fi",
      'exec setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"',
    ];
    await start({ before: ["sh", "-ec", mounts.join("\n"), "sh"] });
    await runs("0.161.0");
    expect(container.processes().map(({ uid }) => uid)).not.toContain(0);
    await stop();
  });
});
