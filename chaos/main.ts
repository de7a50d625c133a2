/** `npm run chaos -- updater`: kills the real thing everywhere and looks at what is left. One program per part. */
import { UPDATER_USAGE, chaosUpdater } from "./updater/command.ts";

const [part, ...args] = process.argv.slice(2);
if (part !== "updater") {
  console.error(`which part? There is: updater\n${UPDATER_USAGE}`);
  process.exitCode = 2;
} else {
  process.exitCode = await chaosUpdater(args);
}
