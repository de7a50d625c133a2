/** `npm run chaos -- updater` and `-- depot`: breaks the real thing everywhere and looks at what is left. One program per part. */
import { DEPOT_USAGE, chaosDepot } from "./depot/command.ts";
import { UPDATER_USAGE, chaosUpdater } from "./updater/command.ts";

const PARTS = { updater: chaosUpdater, depot: chaosDepot };
const [part = "", ...args] = process.argv.slice(2);
const run = Object.hasOwn(PARTS, part) ? PARTS[part as keyof typeof PARTS] : undefined;
if (run === undefined) {
  console.error(`which part? There are: ${Object.keys(PARTS).join(", ")}\n${UPDATER_USAGE}\n${DEPOT_USAGE}`);
  process.exitCode = 2;
} else {
  process.exitCode = await run(args);
}
