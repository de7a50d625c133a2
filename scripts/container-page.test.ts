/** docs/container.md and deploy/container fit each other and the updater's configuration; no engine is needed to know that. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { parse } from "yaml";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { parseUpdaterConfig } from "../src/updater/config.ts";

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const page = read("docs/container.md");
const dockerfile = read("deploy/container/Dockerfile");
const [composeText = "", kubernetesText = ""] = Array.from(
  page.matchAll(/```yaml\n(.+?)```/gs),
  ([, text]) => text ?? "",
);

const parsed = parseUpdaterConfig(read("deploy/container/updater.yaml"), "deploy/container/updater.yaml");
if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
const { settings, warnings } = parsed;
const VOLUME = "/var/lib/myriarch";

const supervisor = z
  .object({
    server: z.object({ endpoint: z.string(), headers: z.record(z.string(), z.string()) }),
    storage: z.object({ directory: z.string() }),
    agent: z.object({ executable: z.string(), config_files: z.array(z.string()) }),
  })
  .parse(parse(read("deploy/container/supervisor.yaml")));

describe("the image", () => {
  test("its updater configuration is valid, without a warning, and keeps everything on the volume", () => {
    expect(warnings).toEqual([]);
    for (const folder of [settings.stateDir, settings.installDir, settings.supervisor.storageDir])
      expect(folder.startsWith(`${VOLUME}/`)).toBe(true);
  });

  test("the supervisor's configuration agrees with the updater's", () => {
    expect(supervisor.storage.directory).toBe(settings.supervisor.storageDir);
    expect(supervisor.agent.executable).toBe(`${settings.installDir}/current/${settings.binary}`);
    expect(supervisor.server.endpoint).toBe(settings.server.endpoint);
    expect(settings.supervisor.command?.at(-1)).toBe("/etc/myriarch/supervisor.yaml");
    const base = read(`deploy/container/${basename(supervisor.agent.config_files[0] ?? "")}`);
    const { extensions } = z
      .object({ extensions: z.object({ health_check: z.object({ endpoint: z.string() }) }) })
      .parse(parse(base));
    expect(settings.collector.healthUrl).toBe(`http://${extensions.health_check.endpoint}/`);
  });

  test("the Dockerfile puts what they name where they look for it, and runs as an account of its own", () => {
    expect(dockerfile).toContain(` ${settings.container?.imageDir}/${settings.binary}\n`);
    expect(dockerfile).toContain(` ${settings.supervisor.command?.[0]}\n`);
    for (const file of dockerfile.matchAll(/deploy\/container\/[\w.]+\.yaml/g)) expect(read(file[0])).not.toBe("");
    expect(dockerfile).toMatch(/^VOLUME \/var\/lib\/myriarch$/m);
    expect(dockerfile).toMatch(/^USER 10001:10001$/m);
    expect(dockerfile).toContain('CMD ["run", "--config", "/etc/myriarch/updater.yaml"]');
    // the folder is its argument, and a sum lies beside the executable
    expect(dockerfile).toContain("node scripts/build-executable.ts /out && rm /out/*.sha256 ");
    expect(read("scripts/build-executable.ts")).toContain("buildExecutable(process.argv[2] ??");
    expect(read("scripts/build-executable.ts")).toContain("`${path}.sha256`");
  });
});

describe("the examples of the page", () => {
  test("compose: the volume, the token's file, and more time to stop than the supervisor has", () => {
    const service = z.object({
      read_only: z.literal(true),
      tmpfs: z.tuple([z.literal("/tmp")]),
      stop_grace_period: z.string(),
      secrets: z.array(z.string()),
      volumes: z.array(z.string()),
      environment: z.object({ ENROLLMENT_TOKEN: z.string() }),
    });
    const { services, secrets, volumes } = z
      .object({
        services: z.object({ otelcol: service }),
        secrets: z.record(z.string(), z.unknown()),
        volumes: z.record(z.string(), z.unknown()),
      })
      .parse(parse(composeText));
    const { otelcol } = services;
    expect(otelcol.volumes[0]).toBe(`${Object.keys(volumes)[0]}:${VOLUME}`);
    expect(otelcol.secrets.map((name) => `/run/secrets/${name}`)).toEqual([settings.server.tokenFile]);
    expect(Object.keys(secrets)).toEqual(otelcol.secrets);
    expect(Number.parseInt(otelcol.stop_grace_period, 10) * 1_000).toBeGreaterThan(settings.supervisor.stopTimeout);
  });

  test("Kubernetes: the same, and a volume that belongs to one pod and is not handed to a group at each start", () => {
    const mount = z.object({ name: z.string(), mountPath: z.string() });
    const set = z
      .object({
        kind: z.literal("StatefulSet"),
        spec: z.object({
          selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
          template: z.object({
            metadata: z.object({ labels: z.record(z.string(), z.string()) }),
            spec: z.object({
              terminationGracePeriodSeconds: z.int(),
              securityContext: z.object({
                runAsUser: z.literal(10_001),
                fsGroupChangePolicy: z.literal("OnRootMismatch"),
              }),
              containers: z.tuple([
                z.object({
                  securityContext: z.object({ readOnlyRootFilesystem: z.literal(true) }),
                  volumeMounts: z.array(mount),
                }),
              ]),
              volumes: z.array(z.looseObject({ name: z.string() })),
            }),
          }),
          volumeClaimTemplates: z.tuple([
            z.object({
              metadata: z.object({ name: z.string() }),
              spec: z.object({ accessModes: z.tuple([z.literal("ReadWriteOncePod")]) }),
            }),
          ]),
        }),
      })
      .parse(parse(kubernetesText));
    const { template, selector, volumeClaimTemplates } = set.spec;
    expect(template.metadata.labels).toMatchObject(selector.matchLabels);
    const names = [...template.spec.volumes.map(({ name }) => name), volumeClaimTemplates[0].metadata.name];
    const mounts = template.spec.containers[0].volumeMounts;
    expect(mounts.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    expect(mounts).toContainEqual({ name: volumeClaimTemplates[0].metadata.name, mountPath: VOLUME });
    expect(template.spec.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(settings.supervisor.stopTimeout);
  });
});
