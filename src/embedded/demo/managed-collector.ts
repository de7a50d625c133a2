/** The collector as the supervisor keeps it: started on `effective.yaml`, watched, and started again when it ends. */
import type { AgentLog } from "../../protocol/agent-client.ts";
import type { ComponentHealth } from "../../protocol/messages.ts";
import { emit, expandEnvironment, healthEndpointOf, type Mapping } from "./collector-config.ts";
import { healthReport, STARTING, watchHealth, type CollectorHealth } from "./collector-health.ts";
import { CollectorProcess } from "./collector-process.ts";
import type { SupervisorConfig } from "./supervisor-config.ts";
import type { SupervisorStorage } from "./supervisor-storage.ts";

export type ManagedCollectorOptions = {
  agent: SupervisorConfig["agent"];
  storage: SupervisorStorage;
  environment: NodeJS.ProcessEnv;
  /** Runs work when nothing else changes the collector. */
  inTurn: (work: () => Promise<void>) => Promise<void>;
  onHealth: () => void;
  /** The collector serves the configuration that it was started with. */
  onStarted: () => void;
  onCrash: (exit: string) => Promise<void>;
  log: AgentLog;
};

/** The real one waits as long, every time. */
const RESTART_MS = 5_000;

export class ManagedCollector {
  private readonly options: ManagedCollectorOptions;
  private readonly child: CollectorProcess;
  private config: Mapping = {};
  private health: CollectorHealth = { healthy: false, status: "", lastError: "" };
  private stopWatching: () => void = () => undefined;
  private again: NodeJS.Timeout | undefined;

  constructor(options: ManagedCollectorOptions) {
    const { agent, storage, environment, inTurn } = options;
    this.options = options;
    this.child = new CollectorProcess({
      executable: agent.executable,
      args: agent.args,
      environment,
      logFile: storage.logFile,
      onCrash: (exit) => void inTurn(() => this.crashed(exit)),
    });
  }

  get healthy(): boolean {
    return this.health.healthy;
  }

  get running(): boolean {
    return this.child.running !== undefined;
  }

  /** Its health as the server hears it. */
  report(): ComponentHealth {
    return healthReport(this.health, this.config, this.child.running?.startedAtMs);
  }

  /** Writes the configuration and starts the collector on it, after the one before is gone. */
  async run(config: Mapping): Promise<void> {
    await this.stop();
    this.config = config;
    const { storage, environment, onStarted } = this.options;
    await storage.writeEffective(emit(config));
    await this.child.start(storage.effectiveFile);
    this.setHealth(STARTING);
    const endpoint = expandEnvironment(healthEndpointOf(config) ?? "", environment);
    let started = false;
    this.stopWatching = watchHealth(endpoint, this.child.running?.pid, (health) => {
      if (!started) onStarted();
      started = true;
      this.setHealth(health);
    });
  }

  async stop(): Promise<void> {
    clearTimeout(this.again);
    this.stopWatching();
    await this.child.stop();
    this.setHealth({ healthy: false, status: "", lastError: "" });
  }

  /** What the server is told when no collector runs on purpose. */
  setHealth(health: CollectorHealth): void {
    const before = this.health;
    this.health = health;
    const same = before.healthy === health.healthy && before.status === health.status;
    if (!same || before.lastError !== health.lastError) this.options.onHealth();
  }

  private async crashed(exit: string): Promise<void> {
    const { inTurn, log, onCrash } = this.options;
    if (this.child.running !== undefined) return; // another one was started meanwhile
    this.stopWatching();
    log.warn({ exit }, "the collector ended by itself; it is started again");
    const lastError = `Agent process exited unexpectedly with ${exit}. Will restart in a bit...`;
    this.setHealth({ healthy: false, status: "", lastError });
    await onCrash(exit);
    this.again = setTimeout(() => void inTurn(() => this.run(this.config)), RESTART_MS);
  }
}
