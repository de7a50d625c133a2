/**
 * A program that starts the embedded services in the folder given as argument, says where in one ready line, and ends as
 * the quickstart does. Tests kill it. With a second argument it also starts that script as a program of ours.
 */
import { startProgram } from "../../src/embedded/program.ts";
import { startServices } from "../../src/embedded/services.ts";
import { untilEnd } from "../../src/embedded/until-end.ts";

const [dataDir, script] = process.argv.slice(2);
if (dataDir === undefined) throw new Error("which data folder?");
const ended = untilEnd(() => process.exit(130));
const services = await startServices({ dataDir, log: (line) => console.log(line) });
const program =
  script === undefined
    ? undefined
    : await startProgram({ name: "ours", script, args: [services.folder.path], dataDir: services.folder.path });
const { databaseUrl, temporalAddress, temporalUiUrl } = services;
console.log(JSON.stringify({ ready: true, databaseUrl, temporalAddress, temporalUiUrl, url: program?.ready.url }));
const { reason } = await ended;
console.log(`ending: ${reason}`);
await program?.stop();
await services.stop();
