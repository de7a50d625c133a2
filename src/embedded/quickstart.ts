/** Starts what Myriarch needs around it and keeps it running until Ctrl-C. */
import { defaultDataDir } from "./data-folder.ts";
import { startServices } from "./services.ts";
import { untilEnd } from "./until-end.ts";

const say = (line: string): void => console.log(line);
const ended = untilEnd(() => process.exit(130));
const services = await startServices({ dataDir: defaultDataDir(), log: say });
for (const line of services.describe()) say(line);
say(`Data folder: ${services.folder.path}. Ctrl-C ends everything; starting again goes on where it was.`);
const { reason } = await ended;
say(`Ending (${reason}) …`);
await services.stop();
