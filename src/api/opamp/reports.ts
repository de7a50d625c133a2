/** What the OpAMP side tells people: refusals into the audit log, errors into the program's log; neither without bound. */
import type { Logger } from "pino";
import type { LinkChange } from "../../store/agents.ts";
import { audit } from "../../store/audit.ts";
import type { Pool } from "../../store/database.ts";
import type { Renamed } from "./who-speaks.ts";

/** Errors of a database that is away come with every batch: one line of them in this time. */
const LOG_EVERY_MS = 5_000;
const MAX_REMEMBERED = 10_000;

/** Logs an error now, or counts it for the next line. */
export function throttledErrors(log: Pick<Logger, "error">): (error: unknown) => void {
  let quietUntilMs = 0;
  let unsaid = 0;
  return (error) => {
    if (performance.now() < quietUntilMs) {
      unsaid++;
      return;
    }
    quietUntilMs = performance.now() + LOG_EVERY_MS;
    log.error({ err: error, unsaid }, "OpAMP: something failed and is tried again");
    unsaid = 0;
  };
}

export type Reports = { renamed: (renamed: Renamed) => void; links: (changes: LinkChange[]) => void };
type Deps = { pool: Pool; log: Pick<Logger, "warn">; now: () => Date; onError: (error: unknown) => void };

/** Refusals are audited once for each pair: whoever repeats them costs no rows. */
export function createReports({ pool, log, now, onError }: Deps): Reports {
  const seen = new Set<string>();
  const once = (key: string): boolean => {
    if (seen.has(key)) return false;
    if (seen.size >= MAX_REMEMBERED) seen.clear();
    seen.add(key);
    return true;
  };
  const refuse = (action: string, object: string, code: string | undefined, detail: Record<string, unknown>): void => {
    log.warn({ action, object, ...detail }, "an agent's claim was refused");
    const entry = { principal: "system", action, object, outcome: "refused" as const, code, detail };
    audit(pool, entry, now()).catch(onError);
  };
  return {
    renamed: ({ uid, newUid, credential, because, asked }) => {
      if (asked || !once(`uid ${uid} ${credential} ${because}`)) return;
      refuse("agent.register", `agent/${uid}`, undefined, { newUid, credential, because });
    },
    links: (changes) => {
      for (const { updater, collector, link } of changes)
        if (link.link === "mismatch" && once(`link ${updater} ${collector}`))
          refuse("agent.link", `agent/${updater}`, "updater_mismatch", { collector, because: link.reason });
    },
  };
}
