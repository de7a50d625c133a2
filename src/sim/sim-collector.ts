/** A supervisor with its collector, as the server sees them; a version is only a word here, everything on the wire is real. */
import { setTimeout as wait } from "node:timers/promises";
import { parse } from "yaml";
import { needsOf } from "../domain/agents/config-needs.ts";
import { createAgentClient, type AgentClient, type AgentState } from "../protocol/agent-client.ts";
import { AGENT_CAPABILITY as CAN, COMMAND, REMOTE_CONFIG_STATUS } from "../protocol/messages.ts";
import type { AgentRemoteConfig, ComponentHealth, ConfigMap, ServerToAgent } from "../protocol/messages.ts";
import { faultFor } from "./fault.ts";
import type { HostMemory } from "./memory.ts";
import type { SimContext } from "./context.ts";

const CAPABILITIES =
  CAN.reportsStatus |
  CAN.acceptsRemoteConfig |
  CAN.reportsEffectiveConfig |
  CAN.acceptsRestartCommand |
  CAN.reportsHealth |
  CAN.reportsRemoteConfig |
  CAN.reportsHeartbeat;
const CRASH_EVERY_MS = 4_000;
/** What a collector runs before it has a configuration from the server. */
const BUILT_IN_PIPELINES = ["traces"];

/** Many hosts get the same bytes: they are read once. */
const read = new Map<string, string[]>();
const MAX_READ = 1_000;

function pipelinesIn(config: ConfigMap, hash: string): string[] {
  const known = read.get(hash);
  if (known !== undefined) return known;
  const bytes = config.get("")?.body ?? new Uint8Array();
  const { pipelines } = needsOf(parse(Buffer.from(bytes).toString("utf8")));
  if (read.size >= MAX_READ) read.clear();
  read.set(hash, pipelines);
  return pipelines;
}

export class SimCollector {
  private readonly memory: HostMemory;
  private readonly context: SimContext;
  private client: AgentClient;
  private startNanos = 0n;
  private healthy = false;
  private effective: ConfigMap = new Map();
  private crashing: NodeJS.Timeout | undefined;
  /** Configurations and restarts happen one after the other. */
  private turn: Promise<void> = Promise.resolve();
  onRenamed: () => void = () => undefined;

  constructor(memory: HostMemory, context: SimContext) {
    this.memory = memory;
    this.context = context;
    // A state file of before does not say what ran: the server sends the configuration again.
    if (memory.pipelines === undefined) memory.config = undefined;
    this.client = this.newClient();
  }

  get connected(): boolean {
    return this.client.connected;
  }

  start(): void {
    this.client.start();
    this.begin(this.startCollector());
  }

  /** The service restarts: a new process, a new connection, everything told again. Resolves when the collector is up. */
  async restartService(version: string): Promise<void> {
    clearInterval(this.crashing);
    await this.client.stop();
    this.memory.version = version;
    this.context.memory.changed();
    this.healthy = false;
    this.client = this.newClient();
    this.client.start();
    await this.startCollector();
  }

  /** Away for good. */
  async stop(): Promise<void> {
    clearInterval(this.crashing);
    await this.client.stop();
  }

  private newClient(): AgentClient {
    return createAgentClient({
      endpoint: this.context.endpoint,
      headers: this.context.headers,
      tls: this.context.tls,
      instanceUid: this.memory.collectorUid,
      capabilities: CAPABILITIES,
      heartbeatIntervalMs: this.context.heartbeatMs,
      state: () => this.state(),
      onMessage: (message) => this.receive(message),
      log: this.context.log,
    });
  }

  private state(): AgentState {
    const { memory, context } = this;
    const { config } = memory;
    return {
      agentDescription: {
        identifyingAttributes: new Map([
          ["service.name", context.distribution],
          ["service.version", memory.version],
          ["service.instance.id", memory.collectorUid],
        ]),
        nonIdentifyingAttributes: new Map([
          ["host.name", memory.name],
          ["os.type", context.os],
          ["host.arch", context.arch],
          ...Object.entries(context.attributes),
        ]),
      },
      health: this.health(),
      effectiveConfig: { configMap: this.effective },
      remoteConfigStatus: {
        lastRemoteConfigHash: Buffer.from(config?.hash ?? "", "hex"),
        status: config?.status ?? REMOTE_CONFIG_STATUS.unset,
        errorMessage: config?.error ?? "",
      },
    };
  }

  private health(): ComponentHealth {
    const part = (children: [string, ComponentHealth][] = []): ComponentHealth => ({
      healthy: this.healthy,
      startTimeUnixNano: this.startNanos,
      lastError: "",
      status: this.healthy ? "StatusOK" : "StatusStarting",
      statusTimeUnixNano: this.startNanos,
      componentHealthMap: new Map(children),
    });
    const pipeline = part([
      ["receiver:otlp", part()],
      ["exporter:debug", part()],
    ]);
    const pipelines = this.memory.pipelines ?? BUILT_IN_PIPELINES;
    return part([
      ["extensions", part([["extension:health_check", part()]])],
      ...pipelines.map((name): [string, ComponentHealth] => [`pipeline:${name}`, pipeline]),
    ]);
  }

  private receive(message: ServerToAgent): void {
    if (message.agentIdentification !== undefined) {
      this.memory.collectorUid = this.client.instanceUid;
      this.context.memory.changed();
      this.onRenamed();
    }
    const { remoteConfig, command } = message;
    if (command?.type === COMMAND.restart) this.begin(this.startCollector());
    if (remoteConfig !== undefined) this.begin(this.turn.then(() => this.apply(remoteConfig)));
  }

  /** As a supervisor does: received, APPLYING while the collector restarts, then APPLIED, or FAILED. */
  private async apply({ config, configHash }: AgentRemoteConfig): Promise<void> {
    const hash = Buffer.from(configHash).toString("hex");
    if (this.memory.config?.hash === hash && this.memory.config.status === REMOTE_CONFIG_STATUS.applied) {
      this.client.update(["remoteConfigStatus"]);
      return;
    }
    this.noteConfig(hash, REMOTE_CONFIG_STATUS.applying, "");
    if (faultFor(this.context.faults, this.memory.name)?.kind === "config_failed") {
      await this.pause();
      this.noteConfig(hash, REMOTE_CONFIG_STATUS.failed, "Agent exited unexpectedly with exit code 1");
      return;
    }
    this.memory.pipelines = pipelinesIn(config, hash);
    await this.startCollector();
    this.effective = config;
    this.noteConfig(hash, REMOTE_CONFIG_STATUS.applied, "");
    this.client.update(["effectiveConfig"]);
  }

  private noteConfig(hash: string, status: number, error: string): void {
    this.memory.config = { hash, status, error };
    this.context.memory.changed();
    this.client.update(["remoteConfigStatus"]);
  }

  /** The collector starts anew: unhealthy, then healthy unless a fault says otherwise. */
  private async startCollector(): Promise<void> {
    this.healthy = false;
    this.startNanos = BigInt(Date.now()) * 1_000_000n;
    this.client.update(["health"]);
    await this.pause();
    const fault = faultFor(this.context.faults, this.memory.name, this.memory.version)?.kind;
    this.healthy = fault !== "unhealthy";
    this.client.update(["health"]);
    clearInterval(this.crashing);
    if (fault !== "crash_loop") return;
    this.crashing = setInterval(() => this.begin(this.startCollector()), CRASH_EVERY_MS);
  }

  private pause(): Promise<void> {
    return wait(this.context.stepMs, undefined, { signal: this.context.signal });
  }

  private begin(work: Promise<void>): void {
    this.turn = work.catch((error: unknown) => {
      if (!this.context.signal.aborted) this.context.log.warn({ error: String(error) }, "a simulated collector failed");
    });
  }
}
