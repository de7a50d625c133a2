/**
 * One run: a host, an attempt or a recovery that is cut off at one point, a start that has to mend it, and an update that
 * follows. What may not happen is a `Breach`.
 */
import { setTimeout } from "node:timers/promises";
import { isOutcome, type UpdateAttempt } from "../../src/domain/update/health-report.ts";
import type { FaultPoint } from "../../src/updater/fault-points.ts";
import { ChaosHost, type Activation, type Ending } from "./host.ts";
import { BY_HAND, FOLLOWING, HEALTHY, UNHEALTHY } from "./programs.ts";
import type { World } from "./world.ts";

export type ChaosWorld = Awaited<ReturnType<typeof World.open>>;
export const OFFERED = [HEALTHY, UNHEALTHY, FOLLOWING] as const;

/** `recovery…`: the fault strikes the start after a kill between activation and start; `command…`: the command `recover`. */
export const KINDS = ["success", "rollback", "recovery", "recovery-back", "command", "command-back"] as const;
export type Kind = (typeof KINDS)[number];
export type Scenario = { name: string; kind: Kind; activation: Activation };
export const SCENARIOS: readonly Scenario[] = KINDS.flatMap((kind) =>
  (["symlink", "copy"] as const).map((activation) => ({ name: `${kind}-${activation}`, kind, activation })),
);

export const FAULTS = ["kill", "fail", "full"] as const;
export type Fault = (typeof FAULTS)[number];
export type Case = { scenario: Scenario; fault: Fault; point: FaultPoint };

export const OUTCOMES = ["old healthy", "new healthy", "both failed, said so"] as const;
export type Outcome = (typeof OUTCOMES)[number];

export class Breach extends Error {
  override readonly name = "Breach";
}

const offeredIn = ({ kind }: Scenario): string => (kind === "rollback" || kind.endsWith("-back") ? UNHEALTHY : HEALTHY);
const isCommand = ({ kind }: Scenario): boolean => kind.startsWith("command");
/** Whether it begins on a host that was cut off. */
const isRecovery = (it: Scenario): boolean => it.kind.startsWith("recovery") || isCommand(it);
const HEALTH_TIMEOUT_MS = 10_000;
const ACTIVATED = {
  symlink: "after rename <install>/current#1",
  copy: "after rename <install>/bin/otelcol-contrib#1",
} as const;

/** A scenario with where its hosts begin. */
export class Stage {
  readonly scenario: Scenario;
  private readonly world: ChaosWorld;
  private from: ChaosHost | undefined;
  private hosts = 0;

  private constructor(scenario: Scenario, world: ChaosWorld) {
    this.scenario = scenario;
    this.world = world;
  }

  static async open(scenario: Scenario, world: ChaosWorld): Promise<Stage> {
    const stage = new Stage(scenario, world);
    if (!isRecovery(scenario)) return stage;
    const host = stage.host();
    const ending = await stage.attempt(host, `kill:${ACTIVATED[scenario.activation]}`);
    if (ending !== "killed") throw new Breach(`the host of ${scenario.name} was not cut off\n${host.log}`);
    stage.from = host;
    return stage;
  }

  private host(): ChaosHost {
    const { activation, name } = this.scenario;
    const settings = { activation, healthTimeoutMs: HEALTH_TIMEOUT_MS };
    return new ChaosHost(this.world, `${name}-${this.hosts++}`, settings, this.from);
  }

  /** Every point of an undisturbed run, in order. */
  async record(): Promise<FaultPoint[]> {
    const host = this.host();
    try {
      const ending = await this.faulty(host, "record");
      if (ending !== "ended") throw new Breach(`the undisturbed run was ${ending}`);
      await this.mended(host, "kill");
      return host.points;
    } catch (error) {
      throw withLog(error, host);
    } finally {
      await host.destroy();
    }
  }

  /** One run with a fault. `reached`: whether it came to the point at all. Throws a `Breach`. */
  async run(fault: Fault, point: number): Promise<{ outcome: Outcome; reached: boolean }> {
    const host = this.host();
    try {
      const ending = await this.faulty(host, `${fault}:${point}`);
      const outcome = await this.mended(host, fault);
      const reached = fault === "kill" ? ending === "killed" : host.points.some(({ n }) => n === point);
      return { outcome, reached };
    } catch (error) {
      throw withLog(error, host);
    } finally {
      await host.destroy();
    }
  }

  private async faulty(host: ChaosHost, fault: string): Promise<"killed" | "ended" | "gave up"> {
    if (!isRecovery(this.scenario)) return await this.attempt(host, fault);
    if (isCommand(this.scenario)) return howItEnded(await host.recover(fault));
    host.start(fault);
    await host.until("told", () => host.session.told !== undefined);
    return await endingOf(host);
  }

  private async attempt(host: ChaosHost, fault: string): Promise<"killed" | "ended" | "gave up"> {
    host.start(fault);
    if (await host.until("connected", () => host.session.told !== undefined)) {
      host.offer(this.world.archiveOf(offeredIn(this.scenario)));
      if (await host.until("attempt ended", () => hasEnded(host.session.told?.attempt)))
        await judgeAlive(host, host.session.told?.attempt);
    }
    return await endingOf(host);
  }

  /** The next start has to bring the host to one version, and an update that follows has to work. */
  private async mended(host: ChaosHost, fault: Fault): Promise<Outcome> {
    const before = host.session.told?.attempt;
    // a disk that takes nothing remembers nothing: then it is enough that the end was told
    const begun = fault === "kill" ? before !== undefined || isRecovery(this.scenario) : before && !hasEnded(before);
    if (isCommand(this.scenario)) await recoverAgain(host);
    host.start();
    const told = await host.until("told", () => host.session.told !== undefined);
    demand(told, "the start after the fault does not come up");
    const attempt = host.session.told?.attempt;
    if (begun === true) demand(attempt !== undefined, "the attempt is forgotten");
    if (attempt !== undefined) demand(hasEnded(attempt), `the attempt is still told as ${attempt.status}`);
    const outcome = await judge(host, attempt);
    if (fault === "kill")
      demand(outcome !== "both failed, said so", "both versions count as failed, but the old one works");
    demand(host.leftovers.length === 0, `left behind: ${host.leftovers.join(", ")}`);
    await this.follow(host);
    const { code, signal } = await host.end();
    demand(code === 0, `the updater ends with ${signal ?? code}`);
    const { supervisors, collectors } = await host.processes();
    demand(supervisors.length + collectors.length === 0, "processes outlive a clean stop");
    return outcome;
  }

  /** A host that was mended takes the next version. */
  private async follow(host: ChaosHost): Promise<void> {
    const isFollowing = (it: UpdateAttempt | undefined) => it?.version === FOLLOWING && hasEnded(it);
    for (let tries = 1; ; tries++) {
      host.offer(this.world.archiveOf(FOLLOWING));
      await host.until("the following update", () => isFollowing(host.session.told?.attempt));
      const { status, error = "" } = host.session.told?.attempt ?? {};
      if (status === "succeeded") break;
      // a machine may be too busy for two shells to start in time
      const tooSlow = tries < 4 && error.includes("health: ");
      demand(tooSlow, `the following update is ${status}: ${error}`);
      await host.end();
      host.start();
      await host.until("told again", () => host.session.told !== undefined);
    }
    demand(host.active([FOLLOWING]) === FOLLOWING && host.runs === FOLLOWING, "the following update is not active");
    demand(host.leftovers.length === 0, `left behind after the following update: ${host.leftovers.join(", ")}`);
  }
}

const hasEnded = (attempt: UpdateAttempt | undefined): boolean => attempt !== undefined && isOutcome(attempt.status);

/** Without a fault the command repairs what it left, says so by its exit code, and leaves nothing running. */
async function recoverAgain(host: ChaosHost): Promise<void> {
  const { code, signal } = await host.recover();
  demand(code === 0, `the second recover ends with ${signal ?? code}`);
  demand(!host.journalExists, "the journal is still there after the second recover");
  demand(host.active([BY_HAND.old, HEALTHY]) !== undefined, "after the second recover no healthy version is active");
  const { supervisors, collectors } = await host.processes();
  demand(supervisors.length + collectors.length === 0, "processes outlive the second recover");
}

const endingOf = async (host: ChaosHost): Promise<"killed" | "ended" | "gave up"> => howItEnded(await host.end());

function howItEnded({ code, signal }: Ending): "killed" | "ended" | "gave up" {
  if (signal === "SIGKILL") return "killed";
  return code === 0 ? "ended" : "gave up";
}

function demand(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Breach(otherwise);
}

/** Exactly one of the allowed ends, seen from outside. */
async function judge(host: ChaosHost, attempt: UpdateAttempt | undefined): Promise<Outcome> {
  const active = host.active([BY_HAND.old, HEALTHY, UNHEALTHY]);
  demand(active !== undefined, "what is active are the bytes of no version");
  if (attempt?.healthy === false) {
    demand(/rollback_failed/.test(attempt.error) && host.journalExists, `unhealthy without a reason: ${attempt.error}`);
    return "both failed, said so";
  }
  demand(!host.journalExists, "the journal is still there");
  await demandOnePair(host, active);
  demand(active !== UNHEALTHY, "the unhealthy version stays active");
  if (attempt?.status === "succeeded") demand(active !== BY_HAND.old, "succeeded, but the old version is active");
  if (attempt?.status === "rolled_back") demand(active === BY_HAND.old, `rolled back, but ${active} is active`);
  return active === BY_HAND.old ? "old healthy" : "new healthy";
}

/** The updater that met a failing disk, and lives, has to have left its host in order too; its journal may remain. */
async function judgeAlive(host: ChaosHost, attempt: UpdateAttempt | undefined): Promise<void> {
  const active = host.active([BY_HAND.old, HEALTHY, UNHEALTHY]);
  demand(active !== undefined, "with the fault: what is active are the bytes of no version");
  if (attempt?.healthy === false) return;
  demand(active !== UNHEALTHY, "with the fault: the unhealthy version stays active");
  await demandOnePair(host, active);
}

async function demandOnePair(host: ChaosHost, active: string): Promise<void> {
  const { supervisors, collectors } = await settled(host, active);
  demand(
    supervisors.length === 1 && collectors.length === 1,
    `${supervisors.length} supervisors and ${collectors.length} collectors run`,
  );
  demand(host.runs === active, `v${active} is active, but v${host.runs ?? "none"} runs`);
}

const SETTLE_MS = 20_000;
const LOOK_EVERY_MS = 20;

/** A supervisor that was started a moment ago still has to start its collector; nobody tells us when. */
async function settled(host: ChaosHost, active: string): ReturnType<ChaosHost["processes"]> {
  for (const deadline = performance.now() + SETTLE_MS; ;) {
    const found = await host.processes();
    const done = found.supervisors.length === 1 && found.collectors.length === 1 && host.runs === active;
    if (done || performance.now() > deadline || !host.alive) return found;
    await setTimeout(LOOK_EVERY_MS);
  }
}

const LOG_CHARS = 4_000;

function withLog(error: unknown, host: ChaosHost): Error {
  const message = error instanceof Error ? error.message : String(error);
  const last = host.points.at(-1)?.label ?? "none";
  return new Breach(`${message}\nlast point: ${last}\n${host.log.slice(-LOG_CHARS)}`, { cause: error });
}
