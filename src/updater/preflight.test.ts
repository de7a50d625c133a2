import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "./clock.ts";
import { MAX_FOREIGN_BYTES, readForeignFile } from "./files.ts";
import type { ServiceAccount } from "./host/service.ts";
import { hasForeignProviders, namesVersion, preflight } from "./preflight.ts";

let root: string;
let logged: string[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "updater-preflight-"));
  logged = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));
const log = {
  info: (_: object, text: string) => void logged.push(text),
  warn: () => undefined,
  error: () => undefined,
};

/** A binary whose `validate` succeeds if the configuration says so and the environment is the service's. */
function binary(): string {
  const path = join(root, "otelcol");
  const script = `#!/bin/sh\ncase "$1" in --version) echo "otelcol version 0.161.0";;\nvalidate) grep -q good "$3" && [ "$TOKEN" = t ] || exit 7;; esac\n`;
  writeFileSync(path, script, { mode: 0o755 });
  return path;
}
const ours: ServiceAccount = {
  uid: process.getuid?.(),
  gid: process.getgid?.(),
  environment: { TOKEN: "t", PATH: "/usr/bin:/bin" },
};
const config = (text: string): string => {
  writeFileSync(join(root, "effective.yaml"), text);
  return join(root, "effective.yaml");
};
const check = async (effectiveConfig: string, account: ServiceAccount = ours) =>
  await preflight(
    {
      binaryPath: binary(),
      version: "0.161.0",
      lastRemoteConfig: join(root, "none"),
      validate: { effectiveConfig, account: async () => account },
    },
    systemClock,
    log,
  );

describe("the version that a binary names", () => {
  it.each([
    "otelcol-contrib version 0.161.0",
    "otelcol-contrib version v0.161.0\n",
    "version: 0.161.0, build 7",
    '{"version":"0.161.0"}',
  ])("%j names it", (output) => {
    expect(namesVersion(output, "0.161.0")).toBe(true);
  });
  it.each(["otelcol-contrib version 0.160.0", "0.161.01", "10.161.0", "0.161.0-rc.1", "0.161", ""])(
    "%j does not",
    (output) => {
      expect(namesVersion(output, "0.161.0")).toBe(false);
    },
  );
});

describe("validate", () => {
  it("runs against the effective configuration with the service's environment", async () => {
    await check(config("good: true\n"));
    await expect(check(config("bad: true\n"))).rejects.toThrow(
      /^preflight: validate refuses the effective configuration \(exit code 7\)/,
    );
    await expect(check(config("good: true\n"), { ...ours, environment: {} })).rejects.toThrow(/^preflight: /);
  });

  it("is not run before the supervisor has written a configuration", async () => {
    await check(join(root, "absent.yaml"));
    await check(config(""));
    expect(logged).not.toContain("preflight: validate");
  });

  it("is skipped when the account is unknown and a provider other than env is used", async () => {
    const unknown = { uid: undefined, gid: undefined, environment: undefined };
    await check(config("token: ${file:/etc/shadow}\n"), unknown);
    expect(logged).toContain("preflight: validate skipped: providers");
  });

  it.each([
    ["a: ${env:X}", false],
    ["a: ${X}", false],
    ["a: ${env:X:-http://y}", false],
    ["a: ${file:/x}", true],
    ["a: ${https://x}", true],
    ["a: ${yaml:b}", true],
  ])("%s has foreign providers: %s", (text, foreign) => {
    expect(hasForeignProviders(text)).toBe(foreign);
  });
});

describe("files of the supervisor's account", () => {
  it("are read only when they are regular, not linked and small", async () => {
    const file = config("x");
    expect((await readForeignFile(file))?.toString()).toBe("x");
    symlinkSync(file, join(root, "link"));
    mkdirSync(join(root, "folder"));
    writeFileSync(join(root, "large"), Buffer.alloc(MAX_FOREIGN_BYTES + 1));
    for (const name of ["link", "folder", "large", "absent"])
      expect(await readForeignFile(join(root, name)), name).toBeUndefined();
  });
});
