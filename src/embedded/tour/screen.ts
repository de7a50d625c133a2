/** The live state in the terminal: rollouts, waves, hosts per phase, what it waits for and what a person can do. */
import { setTimeout as delay } from "node:timers/promises";
import type { FleetView, Rollout, TourApi } from "./api.ts";

const REDRAW_MS = 500;
const BAR = 40;

export type Live = { stop(): void };

/** Draws until `stop`. On a terminal the picture is drawn in place; elsewhere only changes are printed. */
export function showLive(api: TourApi, links: readonly string[], say: (line: string) => void): Live {
  const stopping = new AbortController();
  const inPlace = process.stdout.isTTY;
  const draw = async (): Promise<void> => {
    let last = "";
    while (!stopping.signal.aborted) {
      const picture = await pictureOf(api).catch((error: Error) => `The server does not answer (${error.message}).`);
      if (inPlace)
        process.stdout.write(
          `\u001b[H\u001b[J${[...links, "", picture].join("\n")}\n\nCtrl-C ends everything; starting again goes on where it was.\n`,
        );
      else if (picture !== last) say(picture);
      last = picture;
      await delay(REDRAW_MS, undefined, { signal: stopping.signal }).catch((error: Error) => {
        if (error.name !== "AbortError") throw error;
      });
    }
  };
  draw().catch((error: Error) => say(`The picture ended: ${error.message}`));
  return { stop: () => stopping.abort() };
}

async function pictureOf(api: TourApi): Promise<string> {
  const rollouts = (await api.rollouts()).filter(({ kind, total }) => kind === "change" || total > 0);
  const newest = rollouts.find(({ kind }) => kind === "change");
  const fleet = newest && (await api.fleet(newest.fleet));
  const detail = newest && (await api.rollout(newest.fleet, newest.n));
  return [
    ...(fleet === undefined
      ? ["No fleet has a rollout yet: waiting for the hosts and the first commit."]
      : fleetLines(fleet)),
    ...(detail === undefined ? [] : rolloutLines(detail)),
    ...rollouts
      .slice(1, 6)
      .map((it) => `  earlier  ${it.fleet} #${it.n}  ${it.version ?? "configuration"}  ${it.state}  ${it.reason}`),
  ].join("\n");
}

const fleetLines = (fleet: FleetView): string[] => [
  `Fleet ${fleet.name}: Git wants ${fleet.wants?.version ?? "configuration only"}; hosts run ${fleet.runs.map(({ version, hosts }) => `${version || "unknown"} × ${hosts}`).join(", ") || "nothing"}; ${fleet.connected} of ${fleet.agents} connected, ${fleet.healthy} healthy`,
  ...(fleet.held ? [`  HELD: ${fleet.held.sentence}`] : []),
];

function rolloutLines(it: Rollout): string[] {
  const lines = [
    "",
    `Rollout ${it.fleet} #${it.n} → ${it.version ?? "configuration"}   ${it.state.toUpperCase()}   ${it.reason}`,
    ...it.waves.map(waveLine),
    `  hosts  ${Object.entries(it.counts)
      .filter(([, n]) => n > 0)
      .map(([phase, n]) => `${phase} ${n}`)
      .join("   ")}`,
  ];
  if (it.next) lines.push(`  next   ${it.next.what}${it.next.at ? ` at ${it.next.at}` : ""}`);
  const todo = whatToDo(it);
  if (todo) lines.push(`  you    ${todo}`);
  return lines;
}

function waveLine(wave: Rollout["waves"][number]): string {
  const size = wave.size ?? 0;
  const part = (...phases: string[]): number =>
    phases.reduce((sum, phase) => sum + (wave.counts[phase as keyof typeof wave.counts] ?? 0), 0);
  const ok = part("succeeded");
  const bad = part("failed", "rolled_back");
  const scale = (n: number): number => (size === 0 ? 0 : Math.round((n / size) * BAR));
  const bar = ("█".repeat(scale(ok)) + "✗".repeat(scale(bad))).padEnd(BAR, "░").slice(0, BAR);
  return `  ${wave.name.padEnd(10)} ${bar} ${String(ok).padStart(4)}/${wave.size ?? "?"}  ${wave.state}${bad > 0 ? `, ${bad} failed` : ""}`;
}

function whatToDo(it: Rollout): string | undefined {
  const wave = it.waves.find(({ state }) => state === "waiting_approval");
  if (wave) return `npx myrctl rollouts approve ${it.fleet}/${it.n} --wave ${wave.name}`;
  if (it.state === "paused") return `npx myrctl rollouts resume|abort|rollback ${it.fleet}/${it.n} --reason "…"`;
  return undefined;
}
