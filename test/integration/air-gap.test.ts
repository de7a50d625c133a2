/** docs/air-gap.md: its commands are run as they stand, with a folder in the place of the internet. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createArtifactSource } from "../../src/activities/artifact-source.ts";
import { assetUrls } from "../../src/domain/artifact/asset.ts";
import { parseServerConfig } from "../../src/domain/config/server-config.ts";
import { createUploadWorld, type UploadWorld } from "../support/uploads.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const page = await readFile(join(ROOT, "docs/air-gap.md"), "utf8");
const blocks = (language: string): string[] =>
  Array.from(page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "gs")), ([, text = ""]) => text);
const [fill = "", look = "", upload = ""] = blocks("sh");

let world: UploadWorld;
let inside: string;
let upstream: string;
beforeAll(async () => {
  world = await createUploadWorld();
  inside = await mkdtemp(join(world.root, "inside-"));
  const folder = await world.publish("0.162.0", { platforms: ["linux_amd64", "linux_arm64"], bytes: 20_000 });
  upstream = pathToFileURL(dirname(folder)).href;
  await mkdir(join(inside, "bin"));
  const npx = `#!/bin/sh\nprogram="$1"; shift\nexec "${process.execPath}" "${ROOT}src/bin/$program.ts" "$@"\n`;
  await writeFile(join(inside, "bin", "npx"), npx, { mode: 0o755 });
});
afterAll(() => world.close());

const sh = (commands: string, env: Record<string, string> = {}) =>
  promisify(execFile)("/bin/sh", ["-euc", commands], {
    cwd: inside,
    env: {
      PATH: `${join(inside, "bin")}:${process.env["PATH"] ?? ""}`,
      MYRIARCH_SERVER: world.server,
      MYRIARCH_TOKEN_FILE: join(world.root, "admin"),
      BASE: upstream,
      ...env,
    },
  });

test("the folder is filled, looked at, uploaded, and its release is there", async () => {
  await sh(fill);
  expect(await readdir(join(inside, "mirror", "v0.162.0"))).toHaveLength(6);
  await sh(look);
  const [, ...rest] = upload.trim().split("\n");
  expect(rest).toEqual(["npx myrctl artifacts list"]);
  const { stdout } = await sh(upload.split("\n")[0] ?? "");
  expect(stdout).toContain("otelcol-contrib 0.162.0: 2 archives verified and staged");
  const { rows } = await world.pool.query("select state, wanted from artifacts");
  expect(rows).toEqual([
    { state: "verified", wanted: true },
    { state: "verified", wanted: true },
  ]);
});

test("an archive that was damaged on the way is found by the look", async () => {
  await sh(fill);
  await writeFile(join(inside, "mirror/v0.162.0/otelcol-contrib_0.162.0_linux_arm64.tar.gz"), "x");
  await expect(sh(look)).rejects.toMatchObject({ code: 1 });
});

test("a release that is too old ends the filling", async () => {
  await expect(sh(fill, { VERSION: "0.1.0" })).rejects.toMatchObject({
    stderr: expect.stringContaining("curl") as string,
  });
});

test("as a source it is what the server's configuration names, with a bundle beside each archive", async () => {
  await sh(fill);
  const config = parseServerConfig(blocks("yaml")[0] ?? "", "server.yaml", {});
  expect(config).toMatchObject({ ok: true, warnings: [] });
  expect(config.ok && config.settings.artifacts.sourceBaseUrl).toBe("file:///srv/mirror");
  const source = createArtifactSource();
  const ref = { distribution: "otelcol-contrib", version: "0.162.0", os: "linux", arch: "amd64" };
  for (const url of Object.values(assetUrls(pathToFileURL(join(inside, "mirror")).href, ref)))
    expect(await source.open(url).then((opened) => (opened?.body.destroy(), opened?.size))).toBeGreaterThan(0);
  await source.close();
});
