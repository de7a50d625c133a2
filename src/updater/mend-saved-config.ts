/**
 * Moves a saved remote configuration aside on which the supervisor does not start, or runs no collector. It is kept beside
 * its place, under a name that says when; what the supervisor's own files say runs until the server sends one again.
 */
import { lstat } from "node:fs/promises";
import type { Clock } from "./clock.ts";
import type { Files } from "./files.ts";
import type { Log, ServiceManager } from "./host/service.ts";
import { readSavedConfig } from "./saved-config.ts";

/** The supervisor's words when it cannot read what it saved, or its own files; it says them and ends. */
const CANNOT_LOAD = "failed loading initial config";

export type SavedConfigDeps = {
  service: Pick<ServiceManager, "start" | "stop">;
  /** The supervisor's copy of its last remote configuration. */
  savedConfig: string;
  files: Pick<Files, "rename">;
  clock: Clock;
  log: Log;
};
export type SupervisorFacts = {
  /** It does not run although nobody stopped it. */
  failed: boolean;
  /** Since it was started; undefined where nobody keeps that. */
  said: string | undefined;
};

export class SavedConfigMending {
  private readonly deps: SavedConfigDeps;
  private moved: { to: string; because: string } | undefined;
  private putBack = false;
  /** Empty or undecodable at the last look: whoever looks while it is written sees that, too, but not twice the same. */
  private suspect: string | undefined;

  constructor(deps: SavedConfigDeps) {
    this.deps = deps;
  }

  /** It may be moved once more. */
  begin(): void {
    this.moved = undefined;
    this.putBack = false;
  }

  /** What was done since `begin`, for whoever reads an attempt's error. */
  get note(): string | undefined {
    if (this.moved === undefined) return undefined;
    if (this.putBack) return "the supervisor cannot load its configuration, with or without the saved remote one";
    return `the supervisor could not read its saved remote configuration, now ${this.moved.to}`;
  }

  /** Does what is due. True when it did something, or waits for the next look to do it. Throws what files and service throw. */
  async look({ failed, said }: SupervisorFacts): Promise<boolean> {
    const { savedConfig } = this.deps;
    const saysSo = said?.includes(CANNOT_LOAD);
    if (this.moved !== undefined) return saysSo === true && (await this.giveBack());
    const found = await readSavedConfig(savedConfig);
    if (saysSo ?? (failed && found.state === "refused")) {
      await this.moveAside("because" in found ? found.because : "cannot be loaded");
      await this.startAnew();
      return true;
    }
    if (found.state !== "empty" && found.state !== "undecodable") return this.forget();
    if (!(await this.isSettled())) return true;
    await this.moveAside(found.because);
    if (found.state === "empty" || failed) await this.startAnew(); // on an empty one it runs, without a collector
    return true;
  }

  /** Stopped first, though it may have ended: what it says from then on is of a start without the file. */
  private async startAnew(): Promise<void> {
    const { service } = this.deps;
    await service.stop();
    await service.start();
  }

  private forget(): false {
    this.suspect = undefined;
    return false;
  }

  /** Whether it was so at the look before, and nobody has written since. */
  private async isSettled(): Promise<boolean> {
    const { mtimeMs, size, ino } = await lstat(this.deps.savedConfig);
    const now = `${mtimeMs} ${size} ${ino}`;
    const settled = this.suspect === now;
    this.suspect = now;
    return settled;
  }

  /** Under a name of its own, beside it: whoever wrote it may want to know what it was. */
  private async moveAside(because: string): Promise<void> {
    const { savedConfig, files, clock, log } = this.deps;
    const at = new Date(Number(clock.nowNanos() / 1_000_000n)).toISOString().replaceAll(/[:.]/g, "-");
    const to = `${savedConfig}.unreadable-${at}`;
    await files.rename(savedConfig, to);
    this.moved = { to, because };
    this.suspect = undefined;
    log.warn({ movedTo: to, because }, "the supervisor cannot use its saved remote configuration: moved aside");
  }

  /** It was not the one: without it the supervisor says the same. */
  private async giveBack(): Promise<boolean> {
    const { savedConfig, files, log } = this.deps;
    if (this.moved === undefined || this.putBack) return false;
    if ((await readSavedConfig(savedConfig)).state !== "absent") return false;
    await files.rename(this.moved.to, savedConfig);
    this.putBack = true;
    log.error(
      {},
      "the supervisor cannot load its own configuration files; its saved remote configuration is back in place",
    );
    return true;
  }
}
