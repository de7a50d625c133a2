/** The keys of myriarchd's configuration file with their defaults. Rules over more than one key stand in server-config.ts. */
import { z } from "zod";
import { CONTRACT_DEFAULTS } from "../brand.ts";
import { durationMs, sizeBytes } from "./units.ts";

const duration = (text: string) => durationMs.prefault(text);
const size = (bytes: number) => sizeBytes.prefault(bytes);
const text = z.string().min(1, "must not be empty");
const count = z.int().min(1);

/** `host:port`; `:8080` and `0.0.0.0:8080` listen everywhere, `[::1]:8080` on an IPv6 address, port 0 takes a free one. */
const listen = z.string().transform((value, context) => {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]*):(\d{1,5})$/.exec(value);
  const port = Number(match?.[2]);
  if (match === null || port > 65_535) {
    context.addIssue({
      code: "custom",
      message: "not an address to listen on: write host:port, for example 127.0.0.1:8080",
    });
    return z.NEVER;
  }
  return { host: match[1] === "" ? "::" : (match[1] ?? "").replace(/^\[|\]$/g, ""), port };
});

/** Addresses whose word about who is behind them is believed: one, a network, or a name for the usual ones. */
const proxies = z.union(
  [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6(), z.enum(["loopback", "linklocal", "uniquelocal"])],
  "not an address or network: write for example 10.0.0.7, 10.0.0.0/8, fd00::/8, loopback or uniquelocal",
);

/** A section may be left out when every key in it has a default. */
const section = <S extends z.ZodRawShape>(shape: S) => z.strictObject(shape);

/** Where the upstream collector's releases lie, and the feed that announces them. */
export const UPSTREAM_RELEASES = "https://github.com/open-telemetry/opentelemetry-collector-releases/releases/download";
export const UPSTREAM_FEED = "https://github.com/open-telemetry/opentelemetry-collector-releases/releases.atom";

export const serverSchema = z.strictObject({
  mode: z.enum(["production", "development"]).default("production"),
  server: section({
    listen: listen.prefault("127.0.0.1:8080"),
    publicUrl: text,
    tls: section({ certFile: text, keyFile: text, clientCaFile: text.optional() }).optional(),
    trustedProxies: z.array(proxies).default([]),
  }),
  secrets: section({ keyFile: text, previousKeyFile: text.optional() }),
  gitops: section({
    url: text,
    branch: text.default("main"),
    path: z.string().default(""),
    pollInterval: duration("60s"),
    timeout: duration("60s"),
    webhookSecret: text.optional(),
    webhookSecretFile: text.optional(),
    webhookSecretEnv: text.optional(),
    maxFiles: count.default(CONTRACT_DEFAULTS.maxFiles),
    maxYamlBytes: size(CONTRACT_DEFAULTS.maxYamlBytes),
    validationTimeout: duration("180s"),
    cloneDir: text.optional(),
    credentials: section({
      tokenFile: text.optional(),
      tokenEnv: text.optional(),
      sshKeyFile: text.optional(),
      knownHostsFile: text.optional(),
    }).optional(),
  }),
  artifacts: section({
    sourceBaseUrl: text.default(UPSTREAM_RELEASES),
    releasesFeedUrl: text.optional(),
    discoverEvery: duration("6h"),
    trustedRootFile: text,
    certificateIdentityRegexp: text.default(CONTRACT_DEFAULTS.identityPattern),
    certificateOidcIssuer: text.default(CONTRACT_DEFAULTS.oidcIssuer),
    downloadTokenTtl: duration("24h"),
    agentBaseUrls: z.array(text).default([]),
    allowInsecureAgentBaseUrls: z.boolean().default(false),
    minCopies: count.default(CONTRACT_DEFAULTS.minCopies),
    keepFor: duration("30d"),
    maxConcurrentDownloads: count.default(200),
    stagingDir: text,
    drainTimeout: duration("30m"),
  }),
  agents: section({
    heartbeatInterval: duration("30s"),
    offlineAfter: duration("70s"),
    forgetAfter: duration("30d"),
    acceptRate: count.default(200),
  }).prefault({}),
  executors: section({
    secrets: z
      .array(z.strictObject({ env: text.optional(), file: text.optional(), urlPrefixes: z.array(text).min(1) }))
      .default([]),
  }).prefault({}),
  auth: section({ apiTokens: z.boolean().default(true) }).prefault({}),
  depots: section({
    controlTokenFile: text.optional(),
    controlTokenEnv: text.optional(),
    readTokenFile: text.optional(),
    readTokenEnv: text.optional(),
  }),
  database: section({ url: text.optional(), urlFile: text.optional() }).prefault({}),
  temporal: section({
    address: text.default("127.0.0.1:7233"),
    namespace: text.default("default"),
    tls: z.boolean().default(false),
    apiKeyFile: text.optional(),
    apiKeyEnv: text.optional(),
    retention: duration("90d"),
    uiUrl: text.optional(),
  }).prefault({}),
  telemetry: section({
    metricsListen: listen.prefault("127.0.0.1:9464"),
    logLevel: z.enum(["fatal", "error", "warn", "info", "debug", "trace"]).default("info"),
  }).prefault({}),
});

export type ServerFile = z.output<typeof serverSchema>;
export type Address = { host: string; port: number };
