/** Each connection is an open file: whether this process may have enough of them is known before the first one. */
import type { HostProfile } from "./plan.ts";

/** Beside the connections: files, standard streams, what Node itself holds. */
const OTHER_FILES = 64;

/** Of the supervisor and the updater; those that poll share a few connections. */
const filesOf = ({ transport }: Pick<HostProfile, "transport">): number => (transport === "http" ? 1 : 2);

/** What is wrong with this limit of open files for so many hosts, and what to do; undefined: nothing. */
export function judgeOpenFiles(
  hosts: readonly Pick<HostProfile, "transport">[],
  downloadsAtOnce: number,
  limit: number,
): string | undefined {
  const needed = hosts.reduce((sum, host) => sum + filesOf(host), OTHER_FILES + downloadsAtOnce);
  if (needed <= limit) return undefined;
  return (
    `${hosts.length} hosts that connect need ${needed} open files, and this process may have ${limit}: ` +
    `raise the limit before the start (ulimit -n ${needed}; above the hard limit only root may, up to fs.nr_open), ` +
    "or simulate fewer hosts. The server needs as many"
  );
}

/** Node has raised it to the hard limit by itself. */
export function openFilesLimit(): number {
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const soft = report.userLimits?.open_files?.soft;
  return typeof soft === "number" ? soft : Number.POSITIVE_INFINITY;
}
