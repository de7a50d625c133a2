/**
 * The stand-in supervisor: manages one collector for one server, with the habits of the real one that hurt.
 * - Saved before checked: a remote configuration that does not parse is on disk, and the next start fails for ever. Bytes
 *   that do not decode are passed over; no byte at all is a configuration without content, on which no collector runs.
 * - APPLYING at once, APPLIED only `config_apply_timeout` later and only if the collector is healthy then; FAILED at
 *   once when the collector exits. No way back: the collector is started again with the same configuration.
 * - The collector is described once, at the start of the supervisor: after a swap the service must be restarted.
 * - Only SIGINT stops it cleanly (see `supervisor.ts`).
 * Version and health that are reported come from the collector process, never from an offer or a name.
 */
import { readFile } from "node:fs/promises";
import type { Server } from "node:http";
import { createAgentClient, type AgentClient, type AgentLog, type AgentState } from "../../protocol/agent-client.ts";
import { Malformed } from "../../protocol/malformed.ts";
import { AGENT_CAPABILITY, hasBit, REMOTE_CONFIG_STATUS } from "../../protocol/messages.ts";
import type { AgentDescription, AgentRemoteConfig, ServerToAgent } from "../../protocol/messages.ts";
import { emit, expandEnvironment, mergeConfigs, type Mapping } from "./collector-config.ts";
import { describeCollector } from "./collector-process.ts";
import { ManagedCollector } from "./managed-collector.ts";
import { capabilityBits, type SupervisorConfig } from "./supervisor-config.ts";
import { describeAgent } from "./supervisor-description.ts";
import { serveHealth } from "./supervisor-health.ts";
import { openStorage, type SupervisorStorage } from "./supervisor-storage.ts";

const NOTHING = new Uint8Array();

export class Supervisor {
  private readonly config: SupervisorConfig;
  private readonly log: AgentLog;
  private readonly storage: SupervisorStorage;
  /** Texts of the base configurations. */
  private readonly base: readonly string[];
  private readonly environment: NodeJS.ProcessEnv;
  private readonly capabilities: bigint;
  private readonly collector: ManagedCollector;
  private client: AgentClient | undefined;
  private healthServer: Server | undefined;
  private description: AgentDescription | undefined;
  private merged: Mapping = {};
  /** What the collector runs, as it says itself; undefined before the first one is up. */
  private reported: string | undefined;
  private applying: { configHash: Uint8Array; timer: NodeJS.Timeout } | undefined;
  private ready = false;
  private queue: Promise<void> = Promise.resolve();

  private constructor(config: SupervisorConfig, storage: SupervisorStorage, base: readonly string[], log: AgentLog) {
    this.config = config;
    this.storage = storage;
    this.base = base;
    this.log = log;
    this.capabilities = capabilityBits(config.capabilities);
    this.environment = { ...process.env, ...config.agent.env };
    this.collector = new ManagedCollector({
      agent: config.agent,
      storage,
      environment: this.environment,
      inTurn: (work) => this.inTurn(work),
      onHealth: () => this.client?.update(["health"]),
      onStarted: () => {
        this.reported = expandEnvironment(emit(this.merged), this.environment);
        this.client?.update(["effectiveConfig"]);
      },
      onCrash: (exit) => this.failApplying(`Agent exited unexpectedly with ${exit}`),
      log,
    });
  }

  /** Starts everything in the real one's order. Throws when the collector or a configuration on disk is unusable. */
  static async start(config: SupervisorConfig, log: AgentLog): Promise<Supervisor> {
    const files = config.agent.config_files.filter((file) => !file.startsWith("$"));
    const base = await Promise.all(files.map((file) => readFile(file, "utf8")));
    const supervisor = new Supervisor(config, await openStorage(config.storage.directory), base, log);
    supervisor.healthServer = await serveHealth(config.healthcheck?.endpoint, () => supervisor.ready);
    await supervisor.bootstrap();
    const runs = await supervisor.loadInitialConfig();
    await supervisor.connect();
    if (runs) await supervisor.inTurn(() => supervisor.collector.run(supervisor.merged));
    return supervisor;
  }

  /** Stops collector and connection, in that order; the server hears the reason. */
  async stop(): Promise<void> {
    clearTimeout(this.applying?.timer);
    this.applying = undefined;
    await this.inTurn(() => this.collector.stop());
    this.collector.setHealth({ healthy: false, status: "", lastError: "Supervisor is shutdown" });
    await this.client?.stop();
    this.healthServer?.closeAllConnections();
    this.healthServer?.close();
  }

  private async bootstrap(): Promise<void> {
    const { executable, bootstrap_timeout: timeoutMs, description } = this.config.agent;
    const collector = await describeCollector(executable, timeoutMs);
    this.log.info(collector, "collector described");
    this.description = describeAgent(this.storage.state.instanceId, collector, description);
  }

  /** Returns whether a collector is to run: after an empty remote configuration none is. */
  private async loadInitialConfig(): Promise<boolean> {
    const remote = await this.loadRemoteConfig();
    try {
      this.merged = mergeConfigs(this.base, remote?.config);
    } catch (error) {
      throw new Error(`failed loading initial config: ${reasonOf(error)}`, { cause: error });
    }
    await this.storage.writeEffective(emit(this.merged));
    this.ready = true;
    return remote?.config.size !== 0;
  }

  /** Bytes that are no message, as a power cut leaves them, are passed over. */
  private async loadRemoteConfig(): Promise<AgentRemoteConfig | undefined> {
    try {
      return await this.storage.loadRemoteConfig();
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      this.log.warn({ error: error.message }, "Cannot parse last received remote config");
      return undefined;
    }
  }

  private async connect(): Promise<void> {
    const { endpoint, headers, tls } = this.config.server;
    const ca = tls?.ca_file === undefined ? {} : { ca: await readFile(tls.ca_file, "utf8") };
    this.client = createAgentClient({
      endpoint,
      headers,
      instanceUid: this.storage.state.instanceId,
      capabilities: this.capabilities,
      state: () => this.report(),
      onMessage: (message) => this.receive(message),
      log: this.log,
      tls: { ...ca, rejectUnauthorized: tls?.insecure_skip_verify !== true },
    });
    this.client.start();
  }

  private report(): AgentState {
    const can = (bit: bigint) => hasBit(this.capabilities, bit);
    const file = { body: Buffer.from(this.reported ?? ""), contentType: "" };
    const configMap = new Map(this.reported === undefined ? [] : [["", file] as const]);
    const unset = { status: REMOTE_CONFIG_STATUS.unset, lastRemoteConfigHash: NOTHING, errorMessage: "" };
    return {
      ...(this.description ? { agentDescription: this.description } : {}),
      ...(can(AGENT_CAPABILITY.reportsHealth) ? { health: this.collector.report() } : {}),
      ...(can(AGENT_CAPABILITY.reportsEffectiveConfig) ? { effectiveConfig: { configMap } } : {}),
      ...(can(AGENT_CAPABILITY.reportsRemoteConfig)
        ? { remoteConfigStatus: this.storage.state.remoteConfigStatus ?? unset }
        : {}),
      packageStatuses: { packages: new Map(), serverProvidedAllPackagesHash: NOTHING, errorMessage: "" },
    };
  }

  private async receive({ remoteConfig, agentIdentification, command }: ServerToAgent): Promise<void> {
    const can = (bit: bigint) => hasBit(this.capabilities, bit);
    if (agentIdentification !== undefined) await this.inTurn(() => this.rename(agentIdentification.newInstanceUid));
    if (remoteConfig !== undefined && can(AGENT_CAPABILITY.acceptsRemoteConfig))
      await this.inTurn(() => this.apply(remoteConfig));
    if (command !== undefined && can(AGENT_CAPABILITY.acceptsRestartCommand))
      await this.inTurn(() => this.collector.run(this.merged));
  }

  /** One thing at a time: messages of the server and ends of the collector change the same process. */
  private inTurn(work: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(work).catch((error: unknown) => {
      this.log.warn({ error: reasonOf(error) }, "a step failed");
    });
    return this.queue;
  }

  /** The new identity is stored and used from now on; the description keeps the old one until the next start. */
  private async rename(instanceUid: string): Promise<void> {
    if (this.storage.state.instanceId === instanceUid) return;
    this.storage.state.instanceId = instanceUid;
    await this.storage.saveState();
    await this.collector.run(this.merged);
  }

  private async apply({ config, configHash }: AgentRemoteConfig): Promise<void> {
    await this.storage.saveRemoteConfig({ config, configHash });
    let merged: Mapping;
    try {
      merged = mergeConfigs(this.base, config);
    } catch (error) {
      await this.setConfigStatus(REMOTE_CONFIG_STATUS.failed, configHash, reasonOf(error));
      return;
    }
    const changed = emit(merged) !== emit(this.merged);
    this.merged = merged;
    clearTimeout(this.applying?.timer);
    this.applying = undefined;
    if (config.size === 0) {
      await this.collector.stop();
      this.collector.setHealth({ healthy: true, status: "", lastError: "" });
    }
    if (config.size === 0 || (!changed && this.collector.running)) {
      await this.setConfigStatus(REMOTE_CONFIG_STATUS.applied, configHash, "");
      return;
    }
    await this.setConfigStatus(REMOTE_CONFIG_STATUS.applying, configHash, "");
    const timer = setTimeout(() => void this.inTurn(() => this.judgeApplied()), this.config.agent.config_apply_timeout);
    this.applying = { configHash, timer };
    await this.collector.run(merged);
  }

  private async judgeApplied(): Promise<void> {
    if (this.applying === undefined || !this.collector.healthy) {
      await this.failApplying("Config apply timeout exceeded");
      return;
    }
    const { configHash } = this.applying;
    this.applying = undefined;
    await this.setConfigStatus(REMOTE_CONFIG_STATUS.applied, configHash, "");
  }

  private async failApplying(message: string): Promise<void> {
    if (this.applying === undefined) return;
    const { configHash, timer } = this.applying;
    clearTimeout(timer);
    this.applying = undefined;
    await this.setConfigStatus(REMOTE_CONFIG_STATUS.failed, configHash, message);
  }

  private async setConfigStatus(status: number, lastRemoteConfigHash: Uint8Array, errorMessage: string): Promise<void> {
    this.storage.state.remoteConfigStatus = { status, lastRemoteConfigHash, errorMessage };
    await this.storage.saveState();
    this.log.info({ status, errorMessage }, "remote configuration status");
    this.client?.update(["remoteConfigStatus"]);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
