import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { extract } from "tar-stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONTRACT_DEFAULTS } from "../../domain/brand.ts";
import { openSigningAuthority } from "../../signing/authority.ts";
import { loadTrustedRoot } from "../../verify/policy.ts";
import { readSignature, verifyArtifactSignature } from "../../verify/signature.ts";
import { buildDemoMirror } from "./archives.ts";
import { demoBinary, DEMO_VERSIONS, writeDemoBinary } from "./binary.ts";
import { emit, mergeConfigs, readMapping } from "./collector-config.ts";

const run = promisify(execFile);
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "myriarch-demo-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

const config = (port: number) => ({
  receivers: { nop: null },
  exporters: { debug: { verbosity: "basic" } },
  extensions: { health_check: { endpoint: `127.0.0.1:${port}` } },
  service: {
    extensions: ["health_check"],
    pipelines: { traces: { receivers: ["nop"], exporters: ["debug"] } },
  },
});

describe("the demo mirror", () => {
  const mirror = () => join(folder, "mirror");
  const files = async () =>
    (await readdir(mirror(), { recursive: true })).filter((name) => name.includes(".")).toSorted();
  const contents = async () =>
    Promise.all(
      (await files()).filter((name) => name.includes("tar.gz")).map((name) => readFile(join(mirror(), name))),
    );

  it("has archive, checksum and bundle per version and platform, and does not change when it is built again", async () => {
    const authority = await openSigningAuthority(join(folder, "authority"));
    const platforms = ["linux_amd64", "linux_arm64"];
    await buildDemoMirror({ folder: mirror(), authority, platforms });
    const expected = DEMO_VERSIONS.flatMap(({ version }) =>
      platforms.flatMap((platform) => {
        const asset = `v${version}/otelcol-contrib_${version}_${platform}.tar.gz`;
        return [asset, `${asset}.sha256`, `${asset}.sigstore.json`];
      }),
    );
    expect((await files()).filter((name) => name.includes("tar.gz"))).toEqual(expected.toSorted());
    const before = await contents();
    await buildDemoMirror({ folder: mirror(), authority, platforms });
    expect(await contents()).toEqual(before);
  });

  it("verifies by the code that hosts run, each archive for its own version only, with different bytes in each", async () => {
    const trust = await loadTrustedRoot(join(folder, "authority", "trusted_root.json"));
    const digests = new Set<string>();
    for (const { version } of DEMO_VERSIONS) {
      const asset = join(mirror(), `v${version}`, `otelcol-contrib_${version}_linux_amd64.tar.gz`);
      const sha256Hex = await readFile(`${asset}.sha256`, "utf8");
      expect(sha256Hex).toBe(
        createHash("sha256")
          .update(await readFile(asset))
          .digest("hex"),
      );
      digests.add(sha256Hex);
      const judge = async (asked: string) =>
        verifyArtifactSignature({
          signature: readSignature(await readFile(`${asset}.sigstore.json`)),
          sha256Hex,
          policy: {
            trust,
            identity: { pattern: CONTRACT_DEFAULTS.identityPattern },
            issuer: CONTRACT_DEFAULTS.oidcIssuer,
          },
          version: asked,
          required: true,
        });
      expect(await judge(version)).toMatchObject({ kind: "verified" });
      await expect(judge("0.1.0")).rejects.toMatchObject({ code: "identity_version_mismatch" });
    }
    expect(digests.size).toBe(DEMO_VERSIONS.length);
  });

  it("holds the binary in the root of the archive, executable", async () => {
    const asset = join(mirror(), "v0.161.0", "otelcol-contrib_0.161.0_linux_amd64.tar.gz");
    const entries: string[] = [];
    const reader = extract();
    reader.end(gunzipSync(await readFile(asset)));
    for await (const entry of reader) {
      entries.push(`${entry.header.name} ${(entry.header.mode ?? 0).toString(8)}`);
      entry.resume();
    }
    expect(entries).toEqual(["README.md 644", "otelcol-contrib 755"]);
  });

  it("names no path of the machine that built it", async () => {
    const binary = await demoBinary({ version: "0.161.0" }, "linux_amd64");
    expect(binary).toMatch(/^#!\/usr\/bin\/env node\n/);
    expect(binary).not.toContain(import.meta.dirname);
    expect(binary).not.toContain("@VERSION@");
  });
});

describe("the demo collector", () => {
  it.each(["commonjs", "module"])("tells its version where files without ending are %s", async (type) => {
    const home = join(folder, type);
    await mkdir(home);
    await writeFile(join(home, "package.json"), JSON.stringify({ type }));
    await writeDemoBinary(join(home, "bin", "otelcol-contrib"), "0.160.0");
    const { stdout } = await run(join(home, "bin", "otelcol-contrib"), ["--version"]);
    expect(stdout).toBe("otelcol-contrib version 0.160.0\n");
  });

  const good = config(13133);
  const texts: [string, string, string][] = [
    ["an empty file", "", "must be a mapping"],
    ["a comment alone", "# nothing\n", "must be a mapping"],
    ["a list", "- a\n- b\n", "must be a mapping"],
    ["a tab as indent", "receivers:\n\tnop:\n", "line 2"],
    ["a duplicate key", "receivers:\n  nop:\n  nop:\n", 'mapping key "nop" already defined'],
    ["no receivers", emit({ ...good, receivers: {} }), "receiver"],
    ["no exporters", emit({ ...good, exporters: {} }), "exporter"],
    ["no pipelines", emit({ ...good, service: {} }), "pipeline"],
    ["an unknown section", emit({ ...good, recievers: {} }), "invalid keys: recievers"],
    ["an undefined extension", emit({ ...good, extensions: {} }), "health_check"],
    ["an undefined exporter", emit({ ...good, exporters: { otlp: null } }), 'references exporter "debug"'],
  ];
  it.each(texts)("refuses %s", async (_, text, reason) => {
    const binary = join(folder, "validate", "otelcol-contrib");
    await writeDemoBinary(binary, "0.161.0");
    const file = join(folder, "validate", "bad.yaml");
    await writeFile(file, text);
    await expect(run(binary, ["validate", "--config", file])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(reason) as string,
    });
  });

  it("accepts what the supervisor writes", async () => {
    const binary = join(folder, "validate", "otelcol-contrib");
    const file = join(folder, "validate", "good.yaml");
    await writeFile(file, `# from the supervisor\n${emit(good)}`);
    await expect(run(binary, ["validate", `--config=${file}`])).resolves.toMatchObject({ stdout: "" });
  });

  async function started(version: string) {
    const port = await freePort();
    const home = join(folder, `run-${version}`);
    const binary = join(home, "otelcol-contrib");
    await writeDemoBinary(binary, version);
    await writeFile(join(home, "c.yaml"), emit(config(port)));
    const child = spawn(binary, ["--config", join(home, "c.yaml")], { stdio: ["ignore", "ignore", "pipe"] });
    let ready = "";
    for await (const chunk of child.stderr.iterator({ destroyOnReturn: false })) {
      ready += String(chunk);
      if (ready.includes("Everything is ready")) break;
    }
    child.stderr.resume();
    const health = async () => (await fetch(`http://127.0.0.1:${port}/`)).status;
    return { child, health, binary, home };
  }

  it.each(["SIGINT", "SIGTERM"] as const)("serves its health until %s ends it cleanly", async (signal) => {
    const { child, health, binary, home } = await started("0.162.0");
    expect([await health(), await health(), await health()]).toEqual([200, 200, 200]);
    await expect(run(binary, ["--config", join(home, "c.yaml")])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("EADDRINUSE") as string,
    });
    child.kill(signal);
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("answers healthy exactly once in version 0.163.0", async () => {
    const { child, health } = await started("0.163.0");
    expect([await health(), await health(), await health()]).toEqual([200, 503, 503]);
    child.kill("SIGINT");
    await once(child, "exit");
  });
});

describe("merging configurations as the supervisor does", () => {
  const file = (text: string) => ({ body: Buffer.from(text), contentType: "text/yaml" });

  it("merges maps, replaces lists, unites service extensions; the unnamed file comes last and wins", () => {
    const merged = mergeConfigs(
      ["extensions: {health_check: {endpoint: 'a:1'}}\nservice: {extensions: [health_check]}\n"],
      new Map([
        ["", file("x: {a: 2, list: [3]}\nservice: {extensions: [zpages]}\n")],
        ["b", file("x: {a: 1, b: 1, list: [1, 2]}\n")],
      ]),
    );
    expect(merged).toEqual({
      extensions: { health_check: { endpoint: "a:1" } },
      service: { extensions: ["health_check", "zpages"] },
      x: { a: 2, b: 1, list: [3] },
    });
  });

  it("keeps a collector running on a configuration without effect while no remote one exists", () => {
    expect(mergeConfigs([], undefined)).toHaveProperty("receivers.nop");
    expect(mergeConfigs([], new Map())).toEqual({});
  });

  it("uses the first of several documents and is silent about the rest, as the real one", () => {
    expect(readMapping("a: 1\n---\nb: 2\n")).toEqual({ a: 1 });
  });

  it.each(["a: 1\na: 2\n", "- a\n", "text\n", "a:\n\tb: 1\n", "a: [\n"])("refuses %j", (text) => {
    expect(() => readMapping(text)).toThrow();
  });

  it.each(["", "# nothing\n"])("takes %j for nothing", (text) => {
    expect(readMapping(text)).toEqual({});
  });
});
