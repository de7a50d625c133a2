/** A supervisor with its collector, as the server sees them; a version is only a word here, everything on the wire is real. */
import { setTimeout as wait } from "node:timers/promises";
import type { AgentState, CuttableClient } from "../protocol/agent-client.ts";
import { AGENT_CAPABILITY as CAN, COMMAND, hasBit, REMOTE_CONFIG_STATUS, SERVER_FLAG } from "../protocol/messages.ts";
import type { AgentRemoteConfig, ConfigMap, ServerToAgent } from "../protocol/messages.ts";
import { decideConfig, decideLife, latencyMs, startMs } from "./behaviour.ts";
import { startedNanos } from "./clock.ts";
import { availableComponents, collectorHealth, pipelinesIn } from "./collector-report.ts";
import { createConnection } from "./connect.ts";
import type { SimContext } from "./context.ts";
import type { HostMemory } from "./memory.ts";
import type { HostProfile } from "./plan.ts";

const CAPABILITIES =
  CAN.reportsStatus |
  CAN.acceptsRemoteConfig |
  CAN.reportsEffectiveConfig |
  CAN.acceptsRestartCommand |
  CAN.reportsHealth |
  CAN.reportsRemoteConfig |
  CAN.reportsHeartbeat;
/** What a supervisor says of a collector that does not come up; the reason stays in a log on the host. */
const EXITED = "Agent exited unexpectedly with exit code 1";

export class SimCollector {
  private readonly host: HostProfile;
  private readonly memory: HostMemory;
  private readonly context: SimContext;
  private client: CuttableClient;
  private startNanos = 0n;
  private isHealthy = false;
  private lastError = "";
  /** Hash of the configuration that is reported: that of the collector that came up last. */
  private effective: string | undefined;
  private componentsAsked = false;
  /** How often the collector was started: only the last start counts. */
  private starts = 0;
  private messages = 0;
  private timer: NodeJS.Timeout | undefined;
  onRenamed: () => void = () => undefined;

  constructor(host: HostProfile, memory: HostMemory, context: SimContext) {
    this.host = host;
    this.memory = memory;
    this.context = context;
    this.effective = memory.runs;
    this.client = this.newClient();
  }

  get connected(): boolean {
    return this.client.connected;
  }
  get healthy(): boolean {
    return this.isHealthy;
  }

  start(): void {
    this.client.start();
    this.begin(this.startCollector());
  }

  /** The service restarts: a new process, a new connection, everything told again. Resolves when the collector is up. */
  async restartService(version: string): Promise<void> {
    this.starts += 1; // whatever the collector was about to do, it is gone
    clearInterval(this.timer);
    await this.client.stop();
    this.context.signal.throwIfAborted();
    this.memory.version = version;
    this.context.memory.changed();
    this.isHealthy = false;
    this.componentsAsked = false;
    this.client = this.newClient();
    this.client.start();
    await this.startCollector();
  }

  cut(forMs: number): void {
    this.client.cut(forMs);
  }

  /** Away for good. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.client.stop();
  }

  private newClient(): CuttableClient {
    const { host, memory, context } = this;
    const components = host.components === undefined ? 0n : CAN.reportsAvailableComponents;
    return createConnection(context, host, host.transport, {
      instanceUid: memory.collectorUid,
      capabilities: CAPABILITIES | components,
      state: () => this.state(),
      onMessage: (message) => this.receive(message),
    });
  }

  /** Parts are made when they are sent: most messages are heartbeats. */
  private state(): AgentState {
    const { host, memory, context, startNanos, isHealthy, lastError, componentsAsked } = this;
    const { config, collectorUid, version } = memory;
    const effective = context.memory.config(this.effective);
    return {
      get agentDescription() {
        return {
          identifyingAttributes: new Map([
            ["service.name", host.distribution],
            ["service.version", version],
            ["service.instance.id", collectorUid],
          ]),
          nonIdentifyingAttributes: new Map([
            ["host.name", host.name],
            ["os.type", host.os],
            ["host.arch", host.arch],
            ...Object.entries(host.attributes),
          ]),
        };
      },
      get health() {
        return collectorHealth(isHealthy, startNanos, lastError, pipelinesIn(effective));
      },
      effectiveConfig: { configMap: effective },
      get remoteConfigStatus() {
        return {
          lastRemoteConfigHash: Buffer.from(config?.hash ?? "", "hex"),
          status: config?.status ?? REMOTE_CONFIG_STATUS.unset,
          errorMessage: config?.error ?? "",
        };
      },
      ...(host.components !== undefined && {
        availableComponents: availableComponents(host.components, componentsAsked),
      }),
    };
  }

  private receive(message: ServerToAgent): void {
    if (message.agentIdentification !== undefined) {
      this.memory.collectorUid = this.client.instanceUid;
      this.context.memory.changed();
      this.onRenamed();
    }
    if (hasBit(message.flags, SERVER_FLAG.reportAvailableComponents) && this.host.components !== undefined) {
      this.componentsAsked = true;
      this.client.update(["availableComponents"]);
    }
    const { remoteConfig, command } = message;
    if (remoteConfig === undefined && command === undefined) return;
    const lateMs = latencyMs(this.host, (this.messages += 1));
    if (lateMs === 0) this.follow(remoteConfig, command);
    else this.begin(this.wait(lateMs).then(() => this.follow(remoteConfig, command)));
  }

  /** As the reference client: a command is alone in its message. */
  private follow(remoteConfig: AgentRemoteConfig | undefined, command: ServerToAgent["command"]): void {
    if (command !== undefined) {
      if (command.type === COMMAND.restart) this.begin(this.startCollector());
    } else if (remoteConfig !== undefined) this.begin(this.apply(remoteConfig));
  }

  /** As a supervisor does: received, APPLYING while the collector restarts, then APPLIED, or FAILED. */
  private async apply({ config, configHash }: AgentRemoteConfig): Promise<void> {
    const { memory, context } = this;
    const { applied, applying, failed } = REMOTE_CONFIG_STATUS;
    const hash = Buffer.from(configHash).toString("hex");
    // The same once more is no news for who runs it or is about to.
    if (memory.config?.hash === hash && memory.config.status !== failed) {
      this.client.update(["remoteConfigStatus"]);
      return;
    }
    const before = memory.broken ? undefined : memory.runs;
    const same = before !== undefined && isSame(context.memory.config(before), config);
    context.memory.keepConfig(hash, config);
    const plan = decideConfig(this.host, (memory.configs += 1));
    const unreadable = reasonAgainst(config);
    if (unreadable !== undefined) return this.note(hash, failed, unreadable);
    if (same && plan.do === "apply") {
      memory.runs = this.effective = hash;
      return this.note(hash, applied, "");
    }
    this.note(hash, applying, "");
    Object.assign(memory, { runs: hash, broken: plan.do !== "apply" });
    await this.startCollector();
    if (plan.afterMs > 0) await this.wait(plan.afterMs);
    // A newer configuration or the end of the service has taken over.
    if (memory.config?.hash !== hash) return;
    if (plan.do === "apply") return this.note(hash, applied, "");
    this.note(hash, failed, EXITED);
    if (plan.do === "roll_back" && before !== undefined) await this.rollBack(before);
  }

  private async rollBack(to: string): Promise<void> {
    Object.assign(this.memory, { runs: to, broken: false });
    if (await this.startCollector()) this.note(to, REMOTE_CONFIG_STATUS.applied, "");
  }

  private note(hash: string, status: number, error: string): void {
    this.memory.config = { hash, status, error };
    this.context.memory.changed();
    this.client.update(["remoteConfigStatus"]);
  }

  /** The collector starts anew: unhealthy, then as its plan says. Resolves with whether this is still the last start. */
  private async startCollector(): Promise<boolean> {
    const mine = (this.starts += 1);
    clearInterval(this.timer);
    this.tell(false, "");
    this.startNanos = startedNanos();
    await this.wait(startMs(this.host, mine));
    if (mine !== this.starts) return false;
    const { memory } = this;
    const life = decideLife(this.host, memory.version);
    if (memory.broken) {
      this.tell(false, EXITED);
      return true;
    }
    const isNew = this.effective !== memory.runs;
    this.effective = memory.runs;
    this.tell(life.kind !== "unhealthy", "");
    if (isNew) this.client.update(["effectiveConfig"]);
    if (life.kind === "crash_loop")
      this.timer = setInterval(() => this.begin(this.startCollector()), life.everyMs).unref();
    if (life.kind === "flapping")
      this.timer = setInterval(() => this.begin(this.flap(mine, life.forMs)), life.everyMs).unref();
    return true;
  }

  private async flap(start: number, forMs: number): Promise<void> {
    this.tell(false, "scripted fault flapping");
    await this.wait(forMs);
    if (start === this.starts) this.tell(true, "");
  }

  private tell(healthy: boolean, lastError: string): void {
    this.isHealthy = healthy;
    this.lastError = lastError;
    this.client.update(["health"]);
  }

  private wait(ms: number): Promise<void> {
    return wait(ms, undefined, { signal: this.context.signal });
  }

  private begin(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (!this.context.signal.aborted) this.context.log.warn({ error: String(error) }, "a simulated collector failed");
    });
  }
}

/** The parser's text, as a supervisor reports it; undefined if the configuration can be read. */
function reasonAgainst(config: ConfigMap): string | undefined {
  try {
    pipelinesIn(config);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function isSame(a: ConfigMap, b: ConfigMap): boolean {
  if (a.size !== b.size) return false;
  return Array.from(a).every(([name, { body }]) => {
    const other = b.get(name)?.body;
    return other !== undefined && Buffer.compare(body, other) === 0;
  });
}
