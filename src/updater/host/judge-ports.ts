/** Whether somebody else holds a port that the supervisor or its new collector will open. */
import { METRICS_PORT, type ListeningPort } from "../../domain/update/listening-ports.ts";
import { holderText, type PortHolder } from "./ports.ts";
import type { HostProcess } from "./processes.ts";

/** What the judgement looks at. */
export type PortFacts = {
  holders: readonly PortHolder[];
  processes: readonly HostProcess[];
  /** What the collector will open by its configuration. */
  wanted: readonly ListeningPort[];
  supervisorPid: number | undefined;
  isOurs: (it: HostProcess) => boolean;
};

/** Whether a collector was told on its command line where its metrics go: the supervisor hands that to its first start too. */
const placesMetrics = ({ args }: HostProcess): boolean =>
  args.some((word) => /^(?:--set=)?service\.telemetry\.metrics(?:\.|=)/.test(word));

/**
 * Why the supervisor could not start its collector again; undefined: nothing is in the way. Holders that are collectors of
 * this installation are no problem: they end with their supervisor, or are ended.
 */
export function judgePorts(facts: PortFacts): string | undefined {
  const told = facts.processes.some((it) => facts.isOurs(it) && placesMetrics(it));
  const wanted = told ? facts.wanted.filter(({ what }) => what !== "service.telemetry.metrics") : facts.wanted;
  for (const port of wanted) {
    const stranger = facts.holders.find((it) => !facts.isOurs(it.process) && meets(port, it));
    if (stranger !== undefined)
      return `${holderText(stranger)}, which is no collector of this installation; the configuration opens it (${port.what}): end that process, or give one of the two another port`;
  }
  return told ? undefined : judgeFirstStart(facts);
}

const meets = (wanted: ListeningPort, { port, on }: PortHolder): boolean =>
  wanted.port === port && (wanted.on === "any" || on === "any" || (wanted.on === "loopback" && on === "loopback"));

/**
 * The supervisor's first start of its collector binds the default port of the metrics, whatever the configuration says. One
 * who was there before the supervisor is no problem: it came up in spite of that.
 */
function judgeFirstStart({ holders, processes, supervisorPid, isOurs }: PortFacts): string | undefined {
  const supervisor = processes.find(({ pid }) => pid === supervisorPid);
  const wasThere = (it: HostProcess) => supervisor !== undefined && Number(it.started) < Number(supervisor.started);
  const stranger = holders.find(
    (it) => it.port === METRICS_PORT && it.on !== "other" && !isOurs(it.process) && !wasThere(it.process),
  );
  if (stranger === undefined) return undefined;
  return `${holderText(stranger)}, which is no collector of this installation; a supervisor's first start of its collector needs that port: end that process, give it another port, or give the supervisor's agent.args --set=service.telemetry.metrics.level=none`;
}
