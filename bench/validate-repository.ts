/** A repository as a large operator has it: every kind, inheritance, templates, per-site inventories. Same seed, same bytes. */
export type RepositorySize = {
  fleets: number;
  samples: number;
  blueprints: number;
  policies: number;
  executors: number;
  inventories: number;
  hostsPerInventory: number;
  /** Scrape targets per blueprint: what makes real configurations long. */
  targetsPerBlueprint: number;
};

/** 2,000 files, 500 fleets, 200 samples. */
export const USUAL: RepositorySize = {
  fleets: 500,
  samples: 200,
  blueprints: 240,
  policies: 50,
  executors: 10,
  inventories: 1_000,
  hostsPerInventory: 10,
  targetsPerBlueprint: 20,
};
/** The same number of files, a little below 64 MiB. */
export const LARGEST: RepositorySize = { ...USUAL, hostsPerInventory: 205, targetsPerBlueprint: 1_000 };

const ROOTS = 8;
const REGIONS = ["eu-west", "eu-north", "us-east", "us-west", "ap-south", "ap-east"];
const TIERS = ["edge", "core", "lab"];

export function createRepository(size: RepositorySize, seed = 1): Map<string, string> {
  const next = mulberry32(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)] as T;
  const site = (k: number): string => `site-${String(k % size.samples).padStart(4, "0")}`;
  const files = new Map<string, string>();
  for (let k = 0; k < size.blueprints; k++) {
    const region = pick(REGIONS);
    files.set(`blueprints/${region}/bp-${k}.yaml`, k < ROOTS ? rootBlueprint(k) : siteBlueprint(k, size, next));
  }
  for (let k = 0; k < size.fleets; k++) {
    files.set(`fleets/${pick(REGIONS)}/fleet-${k}.yaml`, fleet(k, site(k), pick(TIERS), size));
  }
  for (let k = 0; k < size.samples; k++)
    files.set(`samples/agents/sample-${k}.yaml`, sample(k, site(k), pick(REGIONS)));
  for (let k = 0; k < size.policies; k++) files.set(`policies/policy-${k}.yaml`, policy(k));
  for (let k = 0; k < size.executors; k++) files.set(`executors/executor-${k}.yaml`, executor(k));
  for (let k = 0; k < size.inventories; k++) {
    files.set(`inventory/${pick(REGIONS)}/inventory-${k}.yaml`, inventory(k, site(k), size.hostsPerInventory, pick));
  }
  return files;
}

const envelope = (kind: string, name: string, description: string, labels = ""): string =>
  `# ${description}\napiVersion: myriarch.dev/v1alpha1\nkind: ${kind}\nmetadata:\n  name: ${name}\n  description: ${description}\n${labels}spec:\n`;

const rootBlueprint = (k: number): string =>
  `${envelope("Blueprint", `bp-${k}`, `What every collector of group ${k} has`)}  parameters:
    endpoint: {type: string, default: "https://otlp.example.com:4317", description: Where everything is sent}
    interval: {type: string, default: 30s, pattern: "^[0-9]+(s|m)$"}
    batch_size: {type: integer, default: 8192, minimum: 1, maximum: 65536}
    site: {type: string, required: true}
    tags: {type: map, default: {}}
  config:
    extensions:
      health_check:
        endpoint: 127.0.0.1:13133
    receivers:
      hostmetrics:
        collection_interval: "{{ parameters.interval }}"
        scrapers:
          cpu: {}
          memory: {}
          filesystem:
            exclude_mount_points:
              mount_points: [/dev/*, /proc/*, /sys/*, /run/k3s/containerd/*]
              match_type: regexp
          network: {}
      otlp:
        protocols:
          grpc: {endpoint: 127.0.0.1:4317}
          http: {endpoint: 127.0.0.1:4318}
    processors:
      memory_limiter:
        check_interval: 1s
        limit_percentage: 75
        spike_limit_percentage: 20
      resource:
        attributes:
          - {key: deployment.site, value: "{{ parameters.site }}", action: upsert}
          - {key: deployment.fleet, value: "{{ .fleet.name }}", action: upsert}
          - {key: os.type, value: "{{ .agent.os }}", action: insert}
      batch:
        send_batch_size: "{{ parameters.batch_size }}"
        timeout: 5s
    exporters:
      otlp:
        endpoint: "{{ parameters.endpoint }}"
        headers:
          authorization: "Bearer \${env:OTLP_TOKEN}"
        sending_queue: {enabled: true, queue_size: 5000}
        retry_on_failure: {enabled: true, initial_interval: 5s, max_interval: 60s}
    service:
      extensions: [health_check]
      pipelines:
        metrics:
          receivers: [hostmetrics, otlp]
          processors: [memory_limiter, resource, batch]
          exporters: [otlp]
        traces:
          receivers: [otlp]
          processors: [memory_limiter, resource, batch]
          exporters: [otlp]
  fragments:
    - name: linux-logs
      when: agent.os == "linux"
      config:
        receivers:
          filelog:
            include: [/var/log/syslog, /var/log/messages, "/var/log/{{ .fleet.name }}/*.log"]
            operators:
              - type: regex_parser
                regex: '^(?P<time>\\S+ \\S+) (?P<sev>[A-Z]*) (?P<msg>.*)$'
              - {type: move, from: attributes.msg, to: body}
        service:
          pipelines:
            logs:
              receivers: [filelog]
              processors: [memory_limiter, resource, batch]
              exporters: [otlp]
`;

function siteBlueprint(k: number, size: RepositorySize, next: () => number): string {
  const targets = Array.from(
    { length: size.targetsPerBlueprint },
    (_, n) => `                  - "node-${n}.rack-${Math.floor(next() * 40)}.example.net:9100"`,
  );
  return `${envelope("Blueprint", `bp-${k}`, `Scrapes the racks of group ${k}`)}  extends: bp-${k % ROOTS}
  parameters:
    scrape_interval: {type: string, default: 60s}
  config:
    receivers:
      prometheus:
        config:
          scrape_configs:
            - job_name: racks-${k}
              scrape_interval: "{{ parameters.scrape_interval }}"
              static_configs:
                - targets:
${targets.join("\n")}
              relabel_configs:
                - source_labels: [__address__]
                  regex: "(.*):9100"
                  target_label: instance
                  replacement: "$$1"
    service:
      pipelines:
        metrics/racks:
          receivers: [prometheus]
          processors: [memory_limiter, resource, batch]
          exporters: [otlp]
`;
}

const fleet = (k: number, site: string, tier: string, size: RepositorySize): string =>
  `${envelope("Fleet", `fleet-${k}`, `Collectors of ${site}`, `  labels:\n    team: team-${k % 17}\n    tier: ${tier}\n`)}  selector:
    matchLabels:
      site: ${site}
    matchExpressions:
      - {key: os.type, operator: In, values: [linux, windows]}
  priority: ${Math.floor(k / size.samples)}
  blueprint: bp-${k % size.blueprints}
  parameters:
    site: ${site}
    batch_size: ${1024 + (k % 7) * 512}
    tags: {owner: team-${k % 17}, cost: "${k}"}
  version:
    distribution: otelcol-contrib
    ${k % 3 === 0 ? 'choice: {range: ">=0.160.0 <0.170.0", default: "0.162.0"}' : 'target: "0.162.0"'}
  rolloutPolicy: policy-${k % size.policies}
  update:
    executor: executor-${k % size.executors}
`;

const sample = (k: number, site: string, region: string): string =>
  `name: sample-${k}
attributes:
  service.name: otelcol-contrib
  service.version: 0.161.0
  host.name: host-${k}.${site}.example.net
  host.arch: amd64
  os.type: ${k % 9 === 0 ? "windows" : "linux"}
  region: ${region}
tokenLabels:
  site: ${site}
`;

const policy = (k: number): string =>
  `${envelope("RolloutPolicy", `policy-${k}`, `How group ${k} is updated`)}  waves:
    - {name: canary, upTo: 1, approval: required, bake: 1h}
    - {name: tenth, upTo: "10%", bake: 30m}
    - {name: half, upTo: "50%"}
  maxConcurrent: "${5 + (k % 10)}%"
  healthWait: 2m
  failureThreshold: {wave: "10%", rollout: 20}
  maintenanceWindows:
    - {days: [mon, tue, wed, thu], start: "22:00", end: "04:00", timezone: Europe/Berlin}
    - {days: [sat], start: "06:00", end: "18:00", timezone: UTC}
`;

const executor = (k: number): string =>
  k % 2 === 0
    ? `${envelope("Executor", `executor-${k}`, "The built-in updater")}  type: updater\n`
    : `${envelope("Executor", `executor-${k}`, "A job of our automation")}  type: awx
  awx:
    url: https://awx.example.com
    jobTemplate: update-collector
    tokenEnv: AWX_TOKEN
    extraVars: {ring: ${k}, reason: rollout}
`;

function inventory(k: number, site: string, hosts: number, pick: <T>(items: readonly T[]) => T): string {
  const entries = Array.from(
    { length: hosts },
    (_, n) => `    - host: node-${n}.inventory-${k}.example.net
      labels: {site: ${site}, rack: r${n % 40}, tier: ${pick(TIERS)}}
      parameters:
        interval: ${pick(["15s", "30s", "60s"])}
        scrape_interval: 2m
        tags: {asset: A-${k}-${n}, serial: "00${n}"}
      expected: ${n % 10 === 0}
`,
  );
  return `${envelope("Inventory", `inventory-${k}`, `Hosts of ${site}`)}  entries:\n${entries.join("")}`;
}

/** A small generator of pseudo-random numbers in [0, 1). */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
