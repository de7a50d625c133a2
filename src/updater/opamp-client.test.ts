import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BRAND } from "../domain/brand.ts";
import { readUpdateComponent, type UpdateAttempt } from "../domain/update/health-report.ts";
import type { AgentClient, AgentClientOptions, AgentState, StateKey } from "../protocol/agent-client.ts";
import {
  PACKAGE_STATUS,
  PACKAGE_TYPE,
  textAttribute,
  type PackagesAvailable,
  type PackageStatus,
} from "../protocol/messages.ts";
import type { SigningAuthority } from "../signing/authority.ts";
import {
  makeArchive,
  openTestAuthority,
  removeAuthority,
  pathOf,
  serveArchives,
  sha256,
  TestHost,
  type Archive,
  type ArchiveServer,
} from "../../test/support/updater-host.ts";
import { parseUpdaterConfig } from "./config.ts";
import type { HostDeps } from "./install.ts";
import { Updater } from "./opamp-client.ts";
import { recover } from "./recover.ts";

type ClientOptions = Parameters<ConstructorParameters<typeof Updater>[0]["connect"]>[0];

/** The server's view: each told state in order, merged as OpAMP says (absent means unchanged). */
class Wire {
  readonly told: AgentState[] = [];
  options: ClientOptions | undefined;
  uid = "";
  connect = (options: Omit<AgentClientOptions, "endpoint" | "headers" | "tls" | "log">): AgentClient => {
    this.options = options;
    this.uid = options.instanceUid;
    const uid = () => this.uid;
    const tell = (keys?: readonly StateKey[]) => {
      const state = options.state();
      this.told.push(keys === undefined ? state : Object.fromEntries(keys.map((key) => [key, state[key]])));
    };
    return {
      start: () => tell(),
      update: tell,
      sendFull: () => tell(),
      stop: async () => undefined,
      connected: true,
      get instanceUid() {
        return uid();
      },
    };
  };
  get state(): AgentState {
    return this.told.reduce((all, one) => ({ ...all, ...one }), {});
  }
  get status(): PackageStatus | undefined {
    return this.state.packageStatuses?.packages.get("");
  }
  get attempt(): UpdateAttempt | undefined {
    const component = this.state.health?.componentHealthMap.get(BRAND.updateComponent);
    return component && readUpdateComponent(component);
  }
  async send(packagesAvailable: PackagesAvailable): Promise<void> {
    await this.options?.onMessage({ instanceUid: this.uid, flags: 0n, capabilities: 0n, packagesAvailable });
  }
  /** Waits, bounded, until what was told satisfies. */
  async until(holds: () => boolean): Promise<void> {
    const deadline = performance.now() + 15_000;
    while (!holds()) {
      if (performance.now() > deadline) throw new Error(`never came true; last: ${JSON.stringify(this.attempt)}`);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  }
}

let authority: SigningAuthority;
let archives: Archive[];
let server: ArchiveServer;
let host: TestHost;
let wire: Wire;
let updater: Updater | undefined;

beforeAll(async () => {
  authority = await openTestAuthority();
  archives = await Promise.all(["0.161.0", "0.162.0"].map(async (version) => await makeArchive(authority, version)));
});
afterAll(() => removeAuthority(authority));
beforeEach(async () => {
  host = new TestHost();
  server = await serveArchives(archives);
});
afterEach(async () => {
  await updater?.stop();
  updater = undefined;
  await server.close();
  host.remove();
});

/** A fresh process on the host: repair, then connect. */
async function start(over: Partial<HostDeps> = {}, atRest?: () => void): Promise<void> {
  await updater?.stop();
  wire = new Wire();
  const read = parseUpdaterConfig(
    `server: {endpoint: "ws://127.0.0.1:4320/v1/opamp", token: t}\nstateDir: ${host.stateDir}\ninstallDir: ${host.installDir}\nhostName: web-01\n` +
      `supervisor: {manager: process, command: [supervisor, --config, x], storageDir: ${host.storageDir}, stateReadInterval: 1ms}\n`,
    "updater.yaml",
  );
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  const deps = { host: host.deps(server, authority, over), state: host.state(), backoff: await host.backoff() };
  await recover(deps);
  updater = new Updater({
    ...deps,
    settings: read.settings,
    version: "1.2.3",
    instanceUid: await deps.state.instanceUid(),
    connect: wire.connect,
    atRest,
  });
  await updater.start();
}

const archiveOf = (version: string): Archive => {
  const found = archives.find((it) => it.version === version);
  if (found === undefined) throw new Error(`no archive of ${version}`);
  return found;
};

function offer(
  version: string,
  over: { name?: string; type?: number; token?: string; all?: string } = {},
): PackagesAvailable {
  const { name = "", type = PACKAGE_TYPE.topLevel, token = "t1", all = `all-${version}` } = over;
  const archive = archiveOf(version);
  const file = {
    downloadUrl: `${server.base}${pathOf(archive)}`,
    contentHash: Buffer.from(sha256(archive.bytes), "hex"),
    signature: archive.signature,
    headers: [{ key: "Authorization", value: `Bearer ${token}` }],
  };
  const hash = Buffer.from(`package-${version}`);
  return {
    packages: new Map([[name, { type, version: `v${version}`, file, hash }]]),
    allPackagesHash: Buffer.from(all),
  };
}
const ended = (status: string, version: string) => () =>
  wire.attempt?.version === version &&
  wire.attempt.status === status &&
  wire.status?.status !== PACKAGE_STATUS.installing;

describe("what is told", () => {
  it("the first message has description, capabilities and health", async () => {
    await start();
    const [first] = wire.told;
    expect(wire.options?.capabilities).toBe(0x2819n);
    const described = first?.agentDescription;
    expect(textAttribute(described?.identifyingAttributes ?? new Map(), "service.name")).toBe("myriarch-updater");
    const own = described?.nonIdentifyingAttributes ?? new Map();
    expect(textAttribute(own, "host.name")).toBe("web-01");
    expect(textAttribute(own, BRAND.attributes.installMethod)).toBe("binary");
    expect(textAttribute(own, BRAND.attributes.serverEndpoint)).toBe("ws://127.0.0.1:4320");
    expect(textAttribute(own, BRAND.attributes.supervisorService)).toBe("supervisor");
    expect(own.has(BRAND.attributes.collectorUid)).toBe(false);
    expect(first?.health).toMatchObject({ healthy: true, status: "StatusOK", lastError: "" });
    expect(first?.packageStatuses?.packages.size).toBe(0);
  });

  it("the collector's uid appears with the supervisor's file, survives half a file, and follows a new one", async () => {
    await start();
    const uid = () =>
      textAttribute(wire.state.agentDescription?.nonIdentifyingAttributes ?? new Map(), BRAND.attributes.collectorUid);
    const file = join(host.storageDir, "persistent_state.yaml");
    const [one, two] = ["0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5061", "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5062"];
    writeFileSync(file, `instance_id: ${one}\nlast_remote_config_status: null\n`);
    await wire.until(() => uid() === one);
    for (const half of ["", `instance_id: ${two.slice(0, 20)}`, `instance_id: ${two}`, "instance_id: nonsense\n"]) {
      writeFileSync(file, half);
      const before = host.clock.monotonicMs();
      await wire.until(() => host.clock.monotonicMs() > before + 20);
      expect(uid()).toBe(one);
    }
    writeFileSync(file, `instance_id: ${two}\n`);
    await wire.until(() => uid() === two);
  });

  it("a new instance uid is kept over a restart and described", async () => {
    await start();
    const renamed = "0190a1b2-c3d4-7e8f-9a0b-1c2d3e4f5099";
    wire.uid = renamed;
    await wire.options?.onMessage({
      instanceUid: "",
      flags: 0n,
      capabilities: 0n,
      agentIdentification: { newInstanceUid: renamed },
    });
    await start();
    expect(wire.options?.instanceUid).toBe(renamed);
    expect(textAttribute(wire.state.agentDescription?.identifyingAttributes ?? new Map(), "service.instance.id")).toBe(
      renamed,
    );
  });
});

describe("an offer", () => {
  it("is carried out: StatusUpdating while it runs, every step told, installed at the end", async () => {
    await start();
    await wire.send(offer("0.161.0"));
    await wire.until(ended("succeeded", "0.161.0"));
    const statuses = wire.told.flatMap(({ health }) => (health ? [health.status] : []));
    expect(statuses).toContain("StatusUpdating");
    expect(wire.state.health).toMatchObject({ status: "StatusOK", healthy: true, lastError: "" });
    expect(wire.status).toMatchObject({
      agentHasVersion: "v0.161.0",
      serverOfferedVersion: "v0.161.0",
      status: PACKAGE_STATUS.installed,
      errorMessage: "",
    });
    expect(Buffer.from(wire.status?.agentHasHash ?? []).toString()).toBe("package-0.161.0");
    expect(Buffer.from(wire.state.packageStatuses?.serverProvidedAllPackagesHash ?? []).toString()).toBe("all-0.161.0");
    const phases = wire.told.flatMap(
      ({ health }) => health?.componentHealthMap.get(BRAND.updateComponent)?.status ?? [],
    );
    expect(phases.filter((phase, at) => phase !== phases[at - 1])).toEqual([
      "downloading",
      "verifying",
      "installing",
      "restarting",
      "health_check",
      "succeeded",
    ]);
  });

  it("equal to the installed set is answered with fresh statuses and no attempt", async () => {
    await start();
    await wire.send(offer("0.161.0"));
    await wire.until(ended("succeeded", "0.161.0"));
    const [before, requests] = [wire.attempt, server.requests.length];
    wire.told.length = 0;
    await wire.send(offer("0.161.0", { all: "another" }));
    expect(wire.status?.status).toBe(PACKAGE_STATUS.installed);
    expect(Buffer.from(wire.state.packageStatuses?.serverProvidedAllPackagesHash ?? []).toString()).toBe("another");
    expect([wire.attempt, server.requests.length]).toEqual([before, requests]);
  });

  it.each([
    ["a named package", { name: "otelcol" }],
    ["an addon", { type: PACKAGE_TYPE.addon }],
  ])("%s fails fast as unsupported, before any download and without an attempt", async (_, over) => {
    await start();
    await wire.send(offer("0.161.0", over));
    const [status] = wire.state.packageStatuses?.packages.values() ?? [];
    expect(status).toMatchObject({
      status: PACKAGE_STATUS.installFailed,
      errorMessage: expect.stringContaining("unsupported package") as string,
    });
    expect(wire.state.health?.lastError).toMatch(/^last update failed: unsupported package/);
    expect([wire.attempt, server.requests]).toEqual([undefined, []]);
  });

  it("that is empty only forgets: nothing is removed from disk", async () => {
    await start();
    await wire.send(offer("0.161.0"));
    await wire.until(ended("succeeded", "0.161.0"));
    const { versions } = host;
    await wire.send({ packages: new Map(), allPackagesHash: Buffer.from("empty") });
    expect(wire.state.packageStatuses?.packages.size).toBe(0);
    expect([host.versions, host.active]).toEqual([versions, "0.161.0"]);
  });

  it("that fails stands as last error, is tried once per backoff, and the backoff outlives a restart and expires", async () => {
    await start();
    host.healthOf = (version) => (version === "0.161.0" ? 503 : 200);
    await wire.send(offer("0.161.0"));
    await wire.until(ended("rolled_back", "0.161.0"));
    const cause = "update to v0.161.0 failed: health: ";
    expect(wire.state.health?.lastError).toContain(`last update failed: ${cause}`);
    expect(wire.state.health?.healthy).toBe(true);
    expect(wire.status).toMatchObject({ agentHasVersion: "v0.160.0", status: PACKAGE_STATUS.installFailed });
    const [attempt, calls] = [wire.attempt, host.calls.length];
    for (let again = 0; again < 20; again++) await wire.send(offer("0.161.0"));
    expect([wire.attempt, host.calls.length]).toEqual([attempt, calls]);
    expect(wire.status?.errorMessage).toMatch(/^update to v0\.161\.0 failed: health: .*; not before \d{4}-/);

    await start();
    expect(wire.attempt).toEqual(attempt);
    await wire.send(offer("0.161.0"));
    expect(host.calls).toHaveLength(calls);

    host.healthOf = () => 200;
    host.clock.advance(600_000);
    await wire.send(offer("0.161.0"));
    await wire.until(ended("succeeded", "0.161.0"));
    expect(wire.state.health?.lastError).toBe("");
  });

  it("that the policy refuses is INSTALL_FAILED with the reason, and is judged anew each time", async () => {
    await start({ policy: { allowDowngrade: false, minimumVersion: "0.162.0", allowedUrlPrefixes: [server.prefix] } });
    for (let again = 0; again < 2; again++) {
      await wire.send(offer("0.161.0"));
      await wire.until(ended("failed", "0.161.0"));
      expect(wire.status).toMatchObject({
        status: PACKAGE_STATUS.installFailed,
        errorMessage: expect.stringMatching(/^policy_refused: /) as string,
      });
    }
    expect(server.requests).toEqual([]);
  });

  it("that is another set before the stop takes the attempt back and is carried out next", async () => {
    await start();
    let began!: () => void;
    const requested = new Promise<void>((resolve) => (began = resolve));
    server.overrides.set(pathOf(archiveOf("0.161.0")), (_, response) => {
      response.writeHead(200, { "content-length": 1_000_000 }).write("x");
      began();
    });
    await wire.send(offer("0.161.0"));
    await requested;
    await wire.send(offer("0.162.0"));
    await wire.until(ended("succeeded", "0.162.0"));
    const withdrawn = wire.told
      .flatMap(({ health }) => health?.componentHealthMap.get(BRAND.updateComponent) ?? [])
      .find(({ status }) => status === "failed");
    expect(withdrawn?.lastError).toMatch(/^withdrawn: /);
    expect(host.calls).toEqual(["stop 0.160.0", "start 0.162.0"]);
    server.overrides.clear();
    await wire.send(offer("0.161.0")); // nothing was remembered: it is tried at once (and is the allowed way nowhere else)
    await wire.until(() => wire.attempt?.version === "0.161.0" && wire.attempt.status === "failed");
    expect(wire.attempt?.error).toMatch(/^policy_refused: /);
  });

  it("is what the watchdog asks about while it is carried out, step by step, and nothing else is", async () => {
    const seen = new Set<string | undefined>();
    const atRest: (string | undefined)[] = [];
    await start(
      host.watched(() => void seen.add(updater?.activity?.step)),
      () => void atRest.push(updater?.activity?.step),
    );
    expect(updater?.activity).toBeUndefined();
    await wire.send(offer("0.161.0"));
    await wire.until(ended("succeeded", "0.161.0"));
    for (const step of ["downloading", "verifying", "installing", "restarting"]) expect([...seen]).toContain(step);
    expect(updater?.activity).toBeUndefined();
    expect(atRest).toEqual([undefined, undefined]); // after the start, and after the update
  });

  it("that is another set after the stop waits for the end", async () => {
    let sent: Promise<void> | undefined;
    await start(host.watched((effect) => void (effect === "stop" && (sent ??= wire.send(offer("0.162.0"))))));
    await wire.send(offer("0.161.0"));
    await wire.until(ended("succeeded", "0.162.0"));
    await sent;
    expect(host.calls).toEqual(["stop 0.160.0", "start 0.161.0", "stop 0.161.0", "start 0.162.0"]);
  });

  it("with only a fresh token gives the download in progress the new token, and starts nothing", async () => {
    await start();
    const archive = archiveOf("0.161.0");
    let cut!: () => void;
    const half = new Promise<void>((resolve) => (cut = resolve));
    server.overrides.set(pathOf(archive), (request, response) => {
      if (request.headers.authorization !== "Bearer t2") {
        if (request.headers.range !== undefined) {
          response.writeHead(403).end();
          return;
        }
        response.writeHead(200, { "content-length": archive.bytes.length, etag: '"1"' });
        response.write(archive.bytes.subarray(0, 100), () => {
          void wire.send(offer("0.161.0", { token: "t2" })).then(() => response.destroy());
          cut();
        });
        return;
      }
      response.writeHead(206, { "content-range": `bytes 100-${archive.bytes.length - 1}/${archive.bytes.length}` });
      response.end(archive.bytes.subarray(100));
    });
    await wire.send(offer("0.161.0"));
    await half;
    await wire.until(ended("succeeded", "0.161.0"));
    expect(server.requests.map(({ authorization }) => authorization)).toEqual(["Bearer t1", "Bearer t2"]);
  });

  it("secrets of the offer are in no log, report or state file", async () => {
    await start();
    server.overrides.set(pathOf(archiveOf("0.161.0")), (_, response) => response.writeHead(403).end());
    await wire.send(offer("0.161.0", { token: "hunter2" }));
    await wire.until(ended("failed", "0.161.0"));
    const everything = JSON.stringify([
      host.log,
      wire.attempt,
      wire.state.health?.lastError,
      wire.status?.errorMessage,
    ]);
    expect(everything).not.toContain("hunter2");
    for (const name of ["attempt.json", "packages.json", "backoff.json"])
      expect(readFileSync(join(host.stateDir, name), "utf8")).not.toContain("hunter2");
  });
});

describe("a restart", () => {
  it("during an install turns the stale status into INSTALL_FAILED and closes the attempt as interrupted", async () => {
    await start();
    server.overrides.set(pathOf(archiveOf("0.161.0")), (_, response) => {
      response.writeHead(200, { "content-length": 1_000_000 }).write("x");
    });
    await wire.send(offer("0.161.0"));
    await wire.until(() => wire.status?.status === PACKAGE_STATUS.downloading);
    await start();
    expect(wire.attempt).toMatchObject({
      version: "0.161.0",
      status: "failed",
      healthy: true,
      error: expect.stringContaining("interrupted") as string,
    });
    expect(wire.status).toMatchObject({
      status: PACKAGE_STATUS.installFailed,
      errorMessage: expect.stringContaining("interrupted") as string,
    });
    server.overrides.clear();
    await wire.send(offer("0.161.0")); // nothing was wrong with the content
    await wire.until(ended("succeeded", "0.161.0"));
  });
});
