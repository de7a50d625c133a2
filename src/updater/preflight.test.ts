import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SAVED_BODIES, savedRemoteConfig } from "../../test/support/saved-config.ts";
import { systemClock } from "./clock.ts";
import { MAX_FOREIGN_BYTES, readForeignFile } from "./files.ts";
import type { ServiceAccount } from "./host/service.ts";
import { hasForeignProviders, namesVersion, preflight, type Preflight } from "./preflight.ts";
import { savedConfigProblem } from "./saved-config.ts";

let root: string;
let logged: string[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "updater-preflight-"));
  logged = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));
const log = {
  info: (_: object, text: string) => void logged.push(text),
  warn: (_: object, text: string) => void logged.push(text),
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

describe("validate as the supervisor's account", () => {
  /** A collector that tells who it is, with which groups and environment, and whether it could read a file of root's. */
  const teller = `#!/bin/sh
case "$1" in --version) echo "otelcol version 0.161.0";;
validate) { id -u; id -g; id -G; echo "$TOKEN"; cat $(dirname "$0")/root-only 2>/dev/null || echo refused; } > $(dirname "$0")/told;; esac
`;
  const nobody = (): ServiceAccount => ({
    uid: Number(execFileSync("id", ["-u", "nobody"]).toString()),
    gid: Number(execFileSync("id", ["-g", "nobody"]).toString()),
    environment: { TOKEN: "t", PATH: "/usr/bin:/bin" },
  });
  const root0 = process.getuid?.() === 0;
  if (!root0) console.warn("skipped: only root can become the supervisor's account");

  it.skipIf(!root0)(
    "runs as root with that user, its group alone and its environment, whatever it provides",
    async () => {
      chmodSync(root, 0o755);
      writeFileSync(join(root, "otelcol"), teller, { mode: 0o755 });
      writeFileSync(join(root, "root-only"), "secret", { mode: 0o600 });
      const effectiveConfig = config("token: ${file:/etc/shadow}\n");
      const account = nobody();
      chownSync(effectiveConfig, account.uid ?? 0, account.gid ?? 0);
      const validate = { effectiveConfig, account: async () => account };
      const told = join(root, "told");
      writeFileSync(told, "");
      chownSync(told, account.uid ?? 0, account.gid ?? 0);
      await preflight(
        { binaryPath: join(root, "otelcol"), version: "0.161.0", lastRemoteConfig: join(root, "none"), validate },
        systemClock,
        log,
      );
      expect(readFileSync(told, "utf8").trim().split("\n")).toEqual([
        String(account.uid),
        String(account.gid),
        String(account.gid),
        "t",
        "refused",
      ]);
    },
  );

  it("otherwise only for configurations without non-environment providers", async () => {
    // an account that nobody here can become, or an environment that nobody knows
    const foreign: ServiceAccount[] = [
      { uid: undefined, gid: undefined, environment: { TOKEN: "t" } },
      { ...ours, environment: undefined },
      ...(root0 ? [] : [{ uid: 0, gid: 0, environment: { TOKEN: "t" } }]),
    ];
    for (const account of foreign) {
      logged = [];
      await check(config("bad: ${file:/etc/shadow}\n"), account);
      expect(logged).toContain("preflight: validate skipped: providers");
      await expect(check(config("bad: ${env:TOKEN}\n"), account)).rejects.toThrow(/^preflight: validate refuses/);
    }
  });
});

describe("components", () => {
  /** A collector with these components; `validate` ends with `code`. */
  function build(components: string, code = 0): string {
    const path = join(root, "otelcol");
    writeFileSync(join(root, "list.yaml"), components);
    const script = `#!/bin/sh\ncase "$1" in --version) echo "otelcol version 0.161.0";;\ncomponents) echo "a warning" >&2; cat ${root}/list.yaml;;\nvalidate) exit ${code};; esac\n`;
    writeFileSync(path, script, { mode: 0o755 });
    return path;
  }
  const listed = (receivers: string, exporters = "nop, otlp_http", extensions = "opamp, health_check") =>
    `buildinfo: {version: 0.161.0}\nreceivers: [${receivers}]\nprocessors:\n  - name: batch\n    module: m v1\nexporters: [${exporters}]\nextensions: [${extensions}]\n`;
  const wanted =
    "receivers: {otlp: {}, otlp/2: {}, kafka: {}}\nprocessors: {batch: {}}\nexporters: {otlphttp/x: {}}\nextensions: {opamp: {}}\n";
  const judge = async (binaryPath: string, text: string, over: Partial<Preflight> = {}) =>
    await preflight(
      {
        binaryPath,
        version: "0.161.0",
        lastRemoteConfig: join(root, "none"),
        effectiveConfig: config(text),
        validate: undefined,
        ...over,
      },
      systemClock,
      log,
    );

  it("that the effective configuration uses and the new build lacks are named", async () => {
    await judge(build(listed("otlp, kafka, nop")), wanted);
    await expect(judge(build(listed("otlp, nop", "nop")), wanted)).rejects.toThrow(
      /^preflight: the new collector lacks exporters\/otlphttp, receivers\/kafka: /,
    );
  });

  it("are named also where validate refuses them, but not where it understands them under another name", async () => {
    const validate = { effectiveConfig: config(wanted), account: async () => ours };
    await expect(judge(build(listed("otlp, nop"), 1), wanted, { validate })).rejects.toThrow(
      /lacks receivers\/kafka: /,
    );
    await judge(build(listed("otlp, nop"), 0), wanted, { validate });
    expect(logged).toContain("preflight: not listed, but the collector understands them");
  });

  it("that every supervisor needs: without the opamp extension it is refused, without nop it is warned of", async () => {
    const without = build(listed("otlp, kafka, nop", "nop", "health_check"));
    await expect(judge(without, "")).rejects.toThrow(/lacks extensions\/opamp: no supervisor can run it/);
    await judge(build(listed("otlp, kafka", "otlp_http")), wanted);
    expect(logged.join()).toContain("only sometimes");
  });

  it("of a long list are read to its end, and a build that prints none is not judged", async () => {
    const many = Array.from({ length: 9_000 }, (_, at) => `receiver_number_${at}`).join(", ");
    await judge(build(listed(`${many}, otlp, kafka, nop`)), wanted);
    await expect(judge(build(listed(`${many}, otlp, nop`)), wanted)).rejects.toThrow(/lacks receivers\/kafka: /);
    await judge(build("Error: unknown command\n"), wanted);
    expect(logged).toContain("preflight: the components cannot be read");
  });
});

describe("the supervisor's next start", () => {
  it.each(SAVED_BODIES)("on a saved configuration with %s", async (_, body, problem) => {
    const path = join(root, "last_recv_remote_config.dat");
    writeFileSync(path, savedRemoteConfig("ok: 1\n", body));
    expect(await savedConfigProblem(path)).toBe(problem);
  });

  it("on bytes that are none is refused, before the stop", async () => {
    const lastRemoteConfig = join(root, "last_recv_remote_config.dat");
    writeFileSync(lastRemoteConfig, Buffer.from([0x0a, 0xff]));
    await expect(
      preflight({ binaryPath: binary(), version: "0.161.0", validate: undefined, lastRemoteConfig }, systemClock, log),
    ).rejects.toThrow(/^preflight: the supervisor could not start again: .* does not decode; mend or remove /);
  });

  it("with a stranger on its port is refused, before the stop", async () => {
    const portProblem = async () => "port 8888 is held by process 7 (nginx)";
    const it = { binaryPath: binary(), version: "0.161.0", validate: undefined, lastRemoteConfig: join(root, "none") };
    await expect(preflight({ ...it, portProblem }, systemClock, log)).rejects.toThrow(
      /^preflight: the supervisor could not start again: port 8888 is held by process 7 \(nginx\)/,
    );
    await preflight({ ...it, portProblem: async () => undefined }, systemClock, log);
  });
});
