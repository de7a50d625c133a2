/** What people see while a simulation runs: a table that is drawn anew on a terminal, one line at a time elsewhere. */
import type { HostAccount } from "./account.ts";

export type Snapshot = {
  hosts: readonly HostAccount[];
  /** Step by host name, of those that are at one. */
  steps: ReadonlyMap<string, string>;
  perSecond: { sent: number; received: number };
};

const countIf = (hosts: readonly HostAccount[], is: (host: HostAccount) => boolean): number => hosts.filter(is).length;
const isConnected = ({ collector, updater }: HostAccount): boolean => collector.connected && updater.connected;

/** `0.160.0: 40, 0.161.0: 20`, the most frequent first. */
function tally(words: readonly string[], most = 6): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const sorted = Array.from(counts).toSorted(([a, n], [b, m]) => m - n || a.localeCompare(b));
  const shown = sorted.slice(0, most).map(([word, n]) => `${word}: ${n}`);
  if (sorted.length > most) shown.push(`${sorted.length - most} more`);
  return shown.length === 0 ? "none" : shown.join(", ");
}

const attemptsOf = (hosts: readonly HostAccount[]): string => {
  const sum = (key: keyof HostAccount["attempts"]) => hosts.reduce((total, { attempts }) => total + attempts[key], 0);
  return `${sum("begun")} begun, ${sum("succeeded")} succeeded, ${sum("failed")} failed, ${sum("rolledBack")} rolled back`;
};

const configsOf = (hosts: readonly HostAccount[]): string =>
  tally(hosts.map(({ collector }) => collector.config?.status ?? "none"));

const messages = ({ sent, received }: Snapshot["perSecond"]): string =>
  `${Math.round(sent)}/s sent, ${Math.round(received)}/s received`;

/** All of it in one line. */
export function lineOf({ hosts, steps, perSecond }: Snapshot): string {
  const connected = countIf(hosts, isConnected);
  const healthy = countIf(hosts, ({ collector }) => collector.healthy);
  return [
    `${hosts.length} hosts, ${connected} connected, ${healthy} healthy, ${steps.size} updating`,
    `versions ${tally(hosts.map(({ collector }) => collector.version))}`,
    `attempts ${attemptsOf(hosts)}`,
    `configurations ${configsOf(hosts)}`,
    `messages ${messages(perSecond)}`,
  ].join("; ");
}

const HEAD = ["group", "hosts", "connected", "healthy", "updating", "versions"];

/** One row a group, then what is true of all. */
export function tableOf(snapshot: Snapshot): string[] {
  const { hosts, steps, perSecond } = snapshot;
  const groups = Map.groupBy(hosts, ({ group }) => group);
  const rows = Array.from(groups, ([name, its]) => [
    name,
    String(its.length),
    String(countIf(its, isConnected)),
    String(countIf(its, ({ collector }) => collector.healthy)),
    String(countIf(its, (host) => steps.has(host.name))),
    tally(its.map(({ collector }) => collector.version)),
  ]);
  const widths = HEAD.map((_, i) => Math.max(...[HEAD, ...rows].map((row) => row[i]?.length ?? 0)));
  const last = HEAD.length - 1;
  const line = (row: string[]): string =>
    row
      .map((cell, i) =>
        i === 0 || i === last ? cell.padEnd(i === 0 ? (widths[i] ?? 0) : 0) : cell.padStart(widths[i] ?? 0),
      )
      .join("  ");
  return [
    ...[HEAD, ...rows].map(line),
    "",
    `steps           ${tally(Array.from(steps.values()))}`,
    `attempts        ${attemptsOf(hosts)}`,
    `configurations  ${configsOf(hosts)}`,
    `messages        ${messages(perSecond)}`,
  ];
}

/** Puts the table in the place of the one before, which had `before` lines. */
export const redraw = (lines: readonly string[], before: number): string =>
  `${before === 0 ? "" : `\u001B[${before}A`}${lines.map((line) => `\u001B[2K${line}\n`).join("")}${
    before > lines.length ? "\u001B[J" : ""
  }`;
