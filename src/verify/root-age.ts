/** How old a trusted root file may become before people are told. On its own: those who only warn load no verifier. */
import { stat } from "node:fs/promises";

const DAY_MS = 86_400_000;
const OLD_ROOT_DAYS = 90;

/**
 * Why a trusted root file deserves a look although it can be read, or undefined: keys of the logs rotate, and nobody
 * notices a file that was never replaced until a good signature is refused. A file that cannot be seen gives the reason.
 */
export async function oldRootWarning(file: string, nowMs: number): Promise<string | undefined> {
  try {
    const days = Math.floor((nowMs - (await stat(file)).mtimeMs) / DAY_MS);
    if (days <= OLD_ROOT_DAYS) return undefined;
    return `${file} is ${days} days old; logs and their keys change: replace it by the current trusted root`;
  } catch (error) {
    return `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"}); signed archives are refused until it can`;
  }
}
