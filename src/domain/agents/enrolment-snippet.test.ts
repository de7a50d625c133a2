import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseUpdaterConfig } from "../../updater/config.ts";
import { enrolmentSnippet, snippetScript, withToken, type SnippetFile } from "./enrolment-snippet.ts";

const of = (transport: "websocket" | "http" = "websocket", publicUrl = "https://fleet.example.com") =>
  enrolmentSnippet({ publicUrl, transport });
const content = (name: SnippetFile["name"], from = of()): string =>
  from.files.find((file) => file.name === name)?.content ?? "";

describe("the snippet of enrolment", () => {
  it.each([
    ["https://fleet.example.com", "websocket", "wss://fleet.example.com/v1/opamp"],
    ["https://fleet.example.com/", "http", "https://fleet.example.com/v1/opamp"],
    ["http://127.0.0.1:8080", "websocket", "ws://127.0.0.1:8080/v1/opamp"],
    ["http://127.0.0.1:8080", "http", "http://127.0.0.1:8080/v1/opamp"],
  ] as const)("of %s over %s leads to %s; an updater always has a socket", (publicUrl, transport, endpoint) => {
    const made = of(transport, publicUrl);
    expect(parse(content("supervisor", made))).toMatchObject({ server: { endpoint } });
    expect(parse(content("updater", made))).toMatchObject({ server: { endpoint: endpoint.replace(/^http/, "ws") } });
  });

  it("switches on what a managed collector needs, and says what is only a choice", () => {
    expect(parse(content("supervisor"))).toMatchObject({
      capabilities: {
        accepts_remote_config: true,
        reports_remote_config: true,
        accepts_restart_command: true,
        reports_available_components: true,
        reports_effective_config: true,
        reports_health: true,
        reports_heartbeat: true,
      },
      agent: { bootstrap_timeout: "20s", config_apply_timeout: "5s", validate_config: false },
    });
    expect(content("drop-in")).toMatch(/^KillSignal=SIGINT$/m);
  });

  it("supervisor and updater agree on folders, health endpoints and token", () => {
    const supervisor = parse(content("supervisor"));
    const base = parse(content("base"));
    const updater = parse(content("updater"));
    expect(updater.supervisor.storageDir).toBe(supervisor.storage.directory);
    expect(updater.supervisor.healthUrl).toBe(`http://${supervisor.healthcheck.endpoint}/health`);
    expect(updater.collector.healthUrl).toBe(`http://${base.extensions.health_check.endpoint}/`);
    expect(supervisor.agent.executable).toBe(`${updater.installDir}/current/otelcol-contrib`);
    const path = (name: string) => of().files.find((file) => file.name === name)?.path;
    expect(updater.server.tokenFile).toBe(path("token"));
    expect(content("drop-in")).toContain(`EnvironmentFile=${path("environment")}\n`);
    expect(supervisor.agent.config_files).toEqual([path("base"), "$REMOTE_CONFIG"]);
  });

  it("is a configuration that the updater takes without a warning", () => {
    expect(parseUpdaterConfig(content("updater"), "updater.yaml")).toMatchObject({ ok: true, warnings: [] });
  });

  it("has the token in files of the owner alone, and keeps it from the collector", () => {
    const made = withToken(of(), "myr_enroll_$&secret");
    const holding = made.files.filter((file) => file.content.includes("myr_enroll_$&secret"));
    expect(holding.map(({ name, mode }) => [name, mode])).toEqual([
      ["environment", "0600"],
      ["token", "0600"],
    ]);
    expect(JSON.stringify(made)).not.toContain("<enrollment token>");
    expect(parse(content("supervisor")).agent.env).toEqual({ MYRIARCH_ENROLLMENT_TOKEN: "" });
  });

  it.skipIf(process.platform === "win32")("as a script writes the very files, with their modes", () => {
    const folder = mkdtempSync(join(tmpdir(), "snippet-"));
    const made = withToken(of(), "myr_enroll_secret");
    try {
      execFileSync("sh", ["-s"], { input: snippetScript(made), env: { ...process.env, PREFIX: folder } });
      for (const file of made.files) {
        const path = join(folder, file.path);
        expect(readFileSync(path, "utf8")).toBe(file.content);
        expect((statSync(path).mode & 0o777).toString(8)).toBe(file.mode.slice(1));
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
