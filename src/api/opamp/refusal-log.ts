/**
 * One line in the program's log for what is refused at the wire: code, agent, credential, address. The same again within a
 * minute is counted and said with the next line, so that nobody fills the disk by sending rubbish.
 */
import type { Logger } from "pino";
import type { ErrorCode } from "../../domain/errors.ts";
import type { Connection } from "./connection.ts";

export type Refused = {
  code: ErrorCode;
  /** Where it is known who it was. */
  agent?: string | undefined;
  credential?: string | undefined;
  address: string;
  because?: string;
};

const QUIET_MS = 60_000;
const MAX_KEYS = 10_000;

export function createRefusalLog(log: Pick<Logger, "warn">): (refused: Refused) => void {
  const said = new Map<string, { atMs: number; unsaid: number }>();
  return (refused) => {
    const key = `${refused.code} ${refused.agent ?? ""} ${refused.credential ?? ""} ${refused.address}`;
    const nowMs = performance.now();
    const before = said.get(key);
    if (before !== undefined && nowMs - before.atMs < QUIET_MS) {
      before.unsaid++;
      return;
    }
    if (said.size >= MAX_KEYS) said.clear();
    said.set(key, { atMs: nowMs, unsaid: 0 });
    log.warn({ ...refused, unsaid: before?.unsaid ?? 0 }, "OpAMP: refused");
  };
}

export const whoOf = ({
  agent,
  credential,
  address,
}: Connection): Pick<Refused, "agent" | "credential" | "address"> => ({
  agent: agent?.uid,
  credential: credential.title,
  address,
});
