/** docs/configuration.md and docs/updater-configuration.md have the keys of the code and no others, with the defaults of the code. */
import { readFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { describe, expect, test } from "vitest";
import { parseDepotConfig, type DepotSettings } from "../src/depot/config.ts";
import { parseServerConfig, variableOf } from "../src/domain/config/server-config.ts";
import { serverSchema } from "../src/domain/config/server-schema.ts";
import { overridablePaths } from "../src/domain/config/strict-yaml.ts";
import { parseUpdaterConfig, type UpdaterSettings } from "../src/updater/config.ts";

const pageOf = (name: string): string => readFileSync(new URL(`../docs/${name}.md`, import.meta.url), "utf8");
const page = pageOf("configuration");
/** What lies on hosts has a page of its own. */
const updaterPage = pageOf("updater-configuration");
type Row = { key: string; fallback: string };
const rowsOf = (program: string): Row[] => {
  const own = page.split(/^## /m).find((text) => text.startsWith(`${program}\n`)) ?? "";
  const section = program === "myriarch-updater" ? updaterPage : own;
  return Array.from(section.matchAll(/^\| `([\w.]+)` \| (\S+) \| .+ \|$/gm), ([, key = "", fallback = ""]) => ({
    key,
    fallback,
  }));
};

type Tree = { [key: string]: unknown };
function put(tree: Tree, path: string, value: unknown): void {
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  let at = tree;
  for (const key of keys) at = (at[key] ??= {}) as Tree;
  at[last] = value;
}
/** The required keys of a file, and with them every default that the page names. */
function files(program: string, required: Record<string, unknown>): { least: string; withDefaults: string } {
  const least: Tree = {};
  for (const [key, value] of Object.entries(required)) put(least, key, value);
  const whole = structuredClone(least);
  for (const { key, fallback } of rowsOf(program)) {
    const text = /^`(.+)`$/.exec(fallback)?.[1];
    if (text !== undefined) put(whole, key, parse(text));
  }
  return { least: stringify(least), withDefaults: stringify(whole) };
}

/** Paths of all leaves of settings, optional ones included: a key that the page's list lacks does not compile. */
type Leaves<T, Above extends string = ""> = {
  [K in keyof T & string]-?: NonNullable<T[K]> extends readonly unknown[] | string | number | boolean
    ? `${Above}${K}`
    : NonNullable<T[K]> extends Address
      ? `${Above}${K}`
      : Leaves<NonNullable<T[K]>, `${Above}${K}.`>;
}[keyof T & string];
type Address = { host: string; port: number };

const depotKeys: Record<Leaves<DepotSettings>, true> = {
  nodeId: true,
  zone: true,
  disks: true,
  "control.listen": true,
  "control.tokenFile": true,
  "control.tls.certFile": true,
  "control.tls.keyFile": true,
  "read.listen": true,
  "read.tokenFile": true,
  "read.tls.certFile": true,
  "read.tls.keyFile": true,
  trashGrace: true,
  reconcileInterval: true,
  diskTimeout: true,
  slots: true,
  readSlots: true,
  idleTimeout: true,
  "bandwidth.in": true,
  "bandwidth.out": true,
  "metrics.listen": true,
  "scrub.lightEvery": true,
  "scrub.deepEvery": true,
  "scrub.bytesPerSecond": true,
};
const updaterKeys: Record<Leaves<UpdaterSettings>, true> = {
  "server.endpoint": true,
  "server.token": true,
  "server.tokenFile": true,
  "server.tls.caFile": true,
  "server.tls.certFile": true,
  "server.tls.keyFile": true,
  hostName: true,
  stateDir: true,
  installDir: true,
  binary: true,
  "supervisor.manager": true,
  "supervisor.service": true,
  "supervisor.command": true,
  "supervisor.storageDir": true,
  "supervisor.healthUrl": true,
  "supervisor.user": true,
  "supervisor.environmentFile": true,
  "supervisor.stateReadInterval": true,
  "supervisor.stopTimeout": true,
  "collector.healthUrl": true,
  "collector.effectiveConfigFile": true,
  "update.minimumVersion": true,
  "update.allowDowngrade": true,
  "update.requireSignature": true,
  "update.certificateIdentityRegexp": true,
  "update.certificateOidcIssuer": true,
  "update.trustedRootFile": true,
  "update.tufMirrorUrl": true,
  "update.tufRootFile": true,
  "update.allowedUrlPrefixes": true,
  "update.maxArchiveBytes": true,
  "update.idleTimeout": true,
  "update.failedRetryBackoff": true,
  "update.keepVersions": true,
  "update.preflightValidate": true,
  "update.activation": true,
  "update.healthSuccesses": true,
  "update.healthInterval": true,
  "update.healthTimeout": true,
  "container.imageDir": true,
  "container.imagePrecedence": true,
};

const SERVER = {
  "server.publicUrl": "https://fleet.example.com",
  "secrets.keyFile": "/k",
  "gitops.url": "https://git.example.com/a.git",
  "artifacts.trustedRootFile": "/r",
  "artifacts.stagingDir": "/s/staging",
  "depots.controlTokenFile": "/c",
  "depots.readTokenFile": "/d",
};
const DEPOT = {
  nodeId: "a",
  disks: ["/a"],
  "control.listen": "127.0.0.1:1",
  "control.tokenFile": "/c",
  "read.listen": "127.0.0.1:2",
  "read.tokenFile": "/d",
};
const UPDATER = {
  "server.endpoint": "wss://fleet.example.com/v1/opamp",
  stateDir: "/s",
  installDir: "/i",
  "supervisor.manager": "systemd",
  "supervisor.storageDir": "/p",
};

const programs = [
  {
    program: "myriarchd",
    keys: overridablePaths(serverSchema),
    required: SERVER,
    read: (text: string) => parseServerConfig(text, "f", { DATABASE_URL: "postgres://u@h/d" }),
  },
  {
    program: "myriarch-depot",
    keys: Object.keys(depotKeys),
    required: DEPOT,
    read: (text: string) => ({ ok: true, settings: parseDepotConfig(text, "f") }),
  },
  {
    program: "myriarch-updater",
    keys: Object.keys(updaterKeys),
    // one of several ways to name a service and a credential
    required: UPDATER,
    read: (text: string) =>
      parseUpdaterConfig(
        text.replace("server:\n", "server:\n  tokenFile: /t\n").replace("supervisor:\n", "supervisor:\n  service: s\n"),
        "f",
      ),
  },
];

describe.each(programs)("the page of $program", ({ program, keys, required, read }) => {
  test("has exactly the keys of the code", () => {
    expect(
      rowsOf(program)
        .map(({ key }) => key)
        .toSorted(),
    ).toEqual(keys.toSorted());
  });

  test("says which keys are required, and leaving out any of them is refused", () => {
    const said = rowsOf(program).filter(({ fallback }) => fallback === "*required*");
    expect(said.map(({ key }) => key).toSorted()).toEqual(Object.keys(required).toSorted());
    for (const missing of Object.keys(required)) {
      const rest = Object.fromEntries(Object.entries(required).filter(([key]) => key !== missing));
      const refused = (): boolean => !read(files(program, rest).least).ok;
      if (program === "myriarch-depot") expect(refused).toThrow(/a value is required|expected/i);
      else expect([missing, refused()]).toEqual([missing, true]);
    }
  });

  test("names the defaults of the code: writing them down changes nothing", () => {
    const { least, withDefaults } = files(program, required);
    expect(withDefaults.length).toBeGreaterThan(least.length);
    const written = read(withDefaults);
    expect(written).toMatchObject({ ok: true });
    // warnings have another place then
    expect(written).toMatchObject({ settings: (read(least) as { settings: object }).settings });
  });

  test("gives a default, *none* or *required* for each key", () => {
    for (const { fallback } of rowsOf(program)) expect(fallback).toMatch(/^(`.+`|\*none\*|\*required\*)$/);
  });
});

test("the example of the updater's page is a valid file without warnings", () => {
  const example = /```yaml\n(.+?)```/s.exec(updaterPage)?.[1] ?? "";
  expect(parseUpdaterConfig(example, "updater.yaml")).toMatchObject({ ok: true, warnings: [] });
});

test("the example of an override is the variable of its key", () => {
  expect(page).toContain(`\`artifacts.minCopies\` is \`${variableOf("artifacts.minCopies")}\``);
});
