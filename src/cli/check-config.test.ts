import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCheckConfig } from "./check-config.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "check-config-"));
});
afterAll(() => rm(folder, { recursive: true }));

const GOOD = `mode: development
server: { publicUrl: "http://127.0.0.1:8080" }
secrets: { keyFile: /k }
gitops: { url: /srv/fleets.git, webhookSecret: planted-secret }
artifacts: { trustedRootFile: /r.json, stagingDir: /s }
depots: { controlTokenFile: /c, readTokenFile: /r }
database: { urlFile: /d }
`;
const run = async (text: string | undefined) => {
  const file = join(folder, "myriarchd.yaml");
  await (text === undefined ? rm(file, { force: true }) : writeFile(file, text));
  const written = { out: "", err: "" };
  const io = {
    out: (line: string) => void (written.out += line),
    err: (line: string) => void (written.err += `${line}\n`),
  };
  return { code: await runCheckConfig(file, {}, io), ...written };
};

describe("check-config", () => {
  it("prints a valid file with its defaults and without its secrets, warnings apart", async () => {
    const { code, out, err } = await run(GOOD);
    expect(code).toBe(0);
    expect(out).toContain("minCopies: 3");
    expect(out).toContain("webhookSecret: inline (redacted)");
    expect(err).toContain("warning: gitops.webhookSecret");
    expect(out + err).not.toContain("planted-secret");
  });
  it("names every issue of another one and ends with 1", async () => {
    const { code, out, err } = await run(GOOD.replace("publicUrl", "publikUrl").replace("keyFile", "keyfile"));
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/myriarchd\.yaml:2:11: error: server\.publikUrl: unknown key \(did you mean publicUrl\?\)/);
    expect(err).toMatch(/myriarchd\.yaml:3:12: error: secrets\.keyfile: unknown key \(did you mean keyFile\?\)/);
  });
  it("ends with 2 when there is none", async () => expect((await run(undefined)).code).toBe(2));
});
