/** docker-compose.yml names programs, files, flags and ports that exist; no Docker is needed to know that. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { parseDepotConfig } from "../../src/depot/config.ts";
import { parseServerConfig } from "../../src/domain/config/server-config.ts";
import { programPath } from "../../src/embedded/program.ts";
import { findApiToken } from "../../src/store/tokens.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const run = promisify(execFile);

const service = z.object({
  build: z.string().optional(),
  image: z.string().optional(),
  command: z.array(z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  hostname: z.string().optional(),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  secrets: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  depends_on: z.union([z.array(z.string()), z.record(z.string(), z.object({ condition: z.string() }))]).default([]),
});
const file = z
  .object({
    services: z.record(z.string(), service),
    volumes: z.record(z.string(), z.unknown()),
    secrets: z.record(z.string(), z.object({ file: z.string() })),
  })
  .parse(parse(read("docker-compose.yml"), { merge: true }));
type Service = z.output<typeof service>;

const services = Object.entries(file.services);
const ours = services.filter(([, it]) => it.build !== undefined && it.entrypoint === undefined);
const servers = ours.filter(([, it]) => it.command?.[0] === "src/bin/myriarchd.ts");
const depots = ours.filter(([, it]) => it.command?.[0] === "src/bin/myriarch-depot.ts");
/** Source and target of each volume. */
const mounts = (it: Service) => it.volumes.map((volume) => volume.split(":") as [source: string, target: string]);
/** What the container finds at `target`, as a path of this repository. */
const mounted = (it: Service, target: string): string => {
  const found = mounts(it).find(([, at]) => at === target);
  if (found === undefined) throw new Error(`nothing is mounted at ${target}`);
  return found[0];
};
const configOf = (it: Service): string => mounted(it, it.command?.at(-1) ?? "");
const healthPort = (it: Service): number =>
  Number(/127\.0\.0\.1:(\d+)/.exec(it.healthcheck?.test.join(" ") ?? "")?.[1]);
const serverSettings = (it: Service) => {
  const parsed = parseServerConfig(read(configOf(it)), configOf(it), it.environment);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed;
};
/** Secrets are mounted under their names below this folder. */
const secretFiles = (text: string): string[] =>
  Array.from(text.matchAll(/\/run\/secrets\/(\w+)/g), (match) => match[1] ?? "");

test("there are three depots and two servers, and every service of ours is one of them", () => {
  expect([depots.length, servers.length, ours.length]).toEqual([3, 2, 5]);
});

test.each(["src/bin/myriarchd.ts", "src/bin/myriarch-depot.ts", "deploy/compose/first-token.ts"])(
  "%s is a program: --help ends with 0",
  async (script) => {
    const { stdout } = await run(process.execPath, [join(ROOT, script), "--help"]);
    expect(stdout).toContain("--config");
  },
);

test("scripts and flags are those that the quickstart starts", () => {
  for (const [stage, list] of [
    ["server", servers],
    ["depots", depots],
  ] as const) {
    const source = read(`src/embedded/stage/${stage}.ts`);
    const program = /programPath\("([\w-]+)"\)/.exec(source)?.[1] ?? "";
    const flags = Array.from(/args: \[([^\]]*)\]/.exec(source)?.[1]?.matchAll(/"(--?[\w-]+)"/g) ?? [], (it) => it[1]);
    for (const [, { command = [] }] of list) {
      expect(join(ROOT, command[0] ?? "")).toBe(programPath(program));
      expect(command.filter((word) => word.startsWith("-"))).toEqual(flags);
    }
  }
});

describe("configuration files", () => {
  test.each(servers)("of %s hold, with the environment of the service, and without a warning", (_, it) => {
    const { settings, warnings } = serverSettings(it);
    expect(warnings).toEqual([]);
    expect(settings.mode).toBe("production");
    expect(settings.temporal).toMatchObject({ address: "temporal:7233", namespace: "myriarch" });
  });

  test.each(depots)("of %s hold, and name the service and the folders that are mounted", (name, it) => {
    const settings = parseDepotConfig(read(configOf(it)), configOf(it));
    expect(settings.nodeId).toBe(name);
    const disks = mounts(it).filter(([source]) => source in file.volumes);
    expect(settings.disks).toEqual(disks.map(([, target]) => target));
  });

  test("health is asked at the ports on which the programs listen", () => {
    for (const [, it] of servers) expect(healthPort(it)).toBe(serverSettings(it).settings.server.listen.port);
    for (const [, it] of depots)
      expect(healthPort(it)).toBe(parseDepotConfig(read(configOf(it)), "").control.listen.port);
  });

  test("published ports lead to the server's port, from this machine only", () => {
    for (const [, it] of servers) {
      const { port } = serverSettings(it).settings.server.listen;
      for (const published of it.ports) expect(published).toMatch(new RegExp(`^127\\.0\\.0\\.1:\\d+:${port}$`));
    }
  });

  test("what the server writes lies on its own volume, what it reads is mounted", () => {
    for (const [name, it] of servers) {
      const { artifacts, gitops } = serverSettings(it).settings;
      const [, target] = mounts(it).find(([source]) => source === name) ?? [];
      for (const folder of [artifacts.stagingDir, gitops.cloneDir ?? artifacts.stagingDir])
        expect(folder.startsWith(`${target}/`)).toBe(true);
      expect(mounts(it).map(([, at]) => at)).toContain(artifacts.trustedRootFile);
    }
  });
});

test("every secret that a service or its configuration names exists, and is given to it", () => {
  for (const [, it] of services) {
    for (const secret of it.secrets) expect(Object.keys(file.secrets)).toContain(secret);
    const texts = [JSON.stringify(it), ...(it.command?.includes("--config") ? [read(configOf(it))] : [])];
    for (const secret of texts.flatMap(secretFiles)) expect(it.secrets).toContain(secret);
  }
  for (const [name, { file: path }] of Object.entries(file.secrets)) {
    expect(basename(path)).toBe(name);
    // the image is built from the clone: no secret lies in it
    expect(path.startsWith("${MYRIARCH_SECRETS:?")).toBe(true);
  }
  expect(read("deploy/compose/README.md").match(/`[a-z_]+`/g)).toEqual(
    expect.arrayContaining(Object.keys(file.secrets).map((name) => `\`${name}\``)),
  );
});

test("every volume exists and is used, every mounted file exists but the trusted root, which an operator puts there", () => {
  const used = services.flatMap(([, it]) => mounts(it).map(([source]) => source));
  const paths = used.filter((source) => source.startsWith("./"));
  expect(new Set(used.filter((source) => !source.startsWith("./")))).toEqual(new Set(Object.keys(file.volumes)));
  expect(new Set(paths.filter((path) => !existsSync(join(ROOT, path))))).toEqual(
    new Set(existsSync(join(ROOT, "deploy/compose/trusted_root.json")) ? [] : ["./deploy/compose/trusted_root.json"]),
  );
});

test("what a service depends on exists, and is healthy only where health is asked", () => {
  for (const [, { depends_on }] of services)
    for (const [name, condition] of Array.isArray(depends_on)
      ? depends_on.map((it) => [it, "service_started"] as const)
      : Object.entries(depends_on).map(([it, { condition: is }]) => [it, is] as const)) {
      expect(Object.keys(file.services)).toContain(name);
      if (condition === "service_healthy") expect(file.services[name]?.healthcheck).toBeDefined();
    }
});

test("the two servers differ in name, port and volume only", () => {
  const alike = servers.map(([name, it]) => ({
    ...it,
    hostname: it.hostname === name,
    ports: it.ports.length,
    volumes: it.volumes.map((volume) => volume.replace(name, "SELF")),
  }));
  expect(alike[0]).toEqual(alike[1]);
  expect(new Set(servers.flatMap(([, it]) => it.ports)).size).toBe(2);
});

test("every disk of a depot is made writable for the account that the image runs as", () => {
  const prepared = file.services["depot-disks"];
  const disks = depots.flatMap(([, it]) => mounts(it).map(([source]) => source)).filter((it) => it in file.volumes);
  expect(new Set(mounts(prepared ?? service.parse({})).map(([source]) => source))).toEqual(new Set(disks));
  expect(prepared?.command).toEqual(mounts(prepared ?? service.parse({})).map(([, target]) => target));
  expect(read("Dockerfile")).toMatch(/^USER node$/m);
});

describe("the first token", () => {
  let database: TestDatabase;
  let folder: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), "myriarch-compose-"));
    await writeFile(join(folder, "server.yaml"), read("deploy/compose/server.yaml").replace(/^database:\n.*\n/m, ""));
  });
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });
  const first = () =>
    run(
      process.execPath,
      [join(ROOT, "deploy/compose/first-token.ts"), "--config", join(folder, "server.yaml"), "ada"],
      {
        env: { ...process.env, DATABASE_URL: database.url },
      },
    );

  test("is an admin's, audited, and the only one that is made this way", async () => {
    const token = (await first()).stdout.trim();
    expect(await findApiToken(database.pool, token, new Date())).toMatchObject({ owner: "ada", role: "admin" });
    const { rows } = await database.pool.query("select principal, action, detail::text as detail from audit");
    expect(rows).toMatchObject([{ principal: "installation", action: "tokens.create" }]);
    expect(JSON.stringify(rows)).not.toContain(token);
    await expect(first()).rejects.toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("exists") });
  });
});
