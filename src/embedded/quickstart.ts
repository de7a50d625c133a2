/**
 * `npm run quickstart`: everything of Myriarch on this machine, with the main job running in it. `--once` runs the scripted
 * tour on a data folder of its own and exits 0, or 1 naming the first fact that failed.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openPool } from "../store/database.ts";
import { createLoginLink } from "../store/sessions.ts";
import { defaultDataDir } from "./data-folder.ts";
import { openStage, startHosts, type Stage } from "./stage/stage.ts";
import { createTourApi } from "./tour/api.ts";
import { FactFailed } from "./tour/facts.ts";
import { showLive } from "./tour/screen.ts";
import { beginFleet } from "./tour/begin.ts";
import { runTour } from "./tour/script.ts";
import { untilEnd, type End } from "./until-end.ts";

const HELP = `npm run quickstart [-- OPTIONS]

Starts PostgreSQL, Temporal, three depots, myriarchd, two real hosts and 60 simulated ones on 127.0.0.1, commits a first
version to a local Git repository and shows the rollout. Ctrl-C ends everything; starting again goes on where it was.

  --once           run the scripted tour in a new folder, check every fact from outside, exit 0 or 1; the folder is
                   removed afterwards, unless MYRIARCH_DATA names it
  --first-rollout  end when the first rollout has succeeded (approving it); says how long it took
  --keep           with --once: leave the folder of the tour
  --record DIR     with --once: write the Temporal histories of the tour, for replay tests
  --hosts N        simulated hosts (default 60)
`;
const say = (line: string): void => console.log(line);

/** The person ended the tour: no fact failed. */
class Interrupted extends Error {
  constructor(reason: End["reason"]) {
    super(`ended (${reason})`);
  }
}

const { values } = parseArgs({
  options: {
    once: { type: "boolean", default: false },
    "first-rollout": { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    record: { type: "string" },
    hosts: { type: "string", default: "60" },
    help: { type: "boolean", short: "h", default: false },
  },
});
const simulated = Number(values.hosts);
const ended = untilEnd(() => process.exit(130));
if (values.help) {
  say(HELP);
  process.exit(0);
} else if (!Number.isInteger(simulated) || simulated < 1 || simulated > 5_000) {
  console.error("--hosts takes a whole number from 1 to 5000");
  process.exit(2);
} else if (values.once) process.exit(await once());
else process.exit(await stay());

/** The tour. A folder that it made itself is removed when it went well; one that somebody named is theirs and stays. */
async function once(): Promise<number> {
  const named = process.env["MYRIARCH_DATA"];
  const dataDir = named || (await mkdtemp(join(tmpdir(), "myriarch-tour-")));
  const startedAt = performance.now();
  let stage: Stage | undefined;
  try {
    stage = await openStage({ dataDir, log: say, simulated });
    for (const line of stage.services.describe()) say(line);
    await Promise.race([
      runTour(stage, say, values.record),
      ended.then(({ reason }) => Promise.reject(new Interrupted(reason))),
    ]);
  } catch (error) {
    say(
      error instanceof FactFailed
        ? `\n✗ ${error.message}`
        : `\n✗ ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
    say(`Logs: ${join(dataDir, "logs")}`);
    return error instanceof Interrupted ? 130 : 1;
  } finally {
    await stage?.stop();
  }
  if (!named && !values.keep) await rm(dataDir, { recursive: true, force: true });
  say(
    `\nThe tour went well: every fact was checked from outside, in ${Math.round((performance.now() - startedAt) / 1000)} s.`,
  );
  return 0;
}

/** Starts everything and stays until Ctrl-C. */
async function stay(): Promise<number> {
  const startedAt = performance.now();
  const stage = await openStage({ dataDir: defaultDataDir(), log: say, simulated });
  try {
    for (const line of stage.services.describe()) say(line);
    await startHosts(stage);
    const api = createTourApi(stage.server.url, stage.credentials.adminToken);
    const links = await linksOf(stage);
    for (const line of links) say(line);
    const first = beginFleet(stage, api, values["first-rollout"]);
    if (values["first-rollout"]) {
      const interrupted = await Promise.race([first, ended]);
      if (interrupted !== undefined) return 130;
      say(`The first rollout has succeeded ${((performance.now() - startedAt) / 1000).toFixed(1)} s after the start.`);
      return 0;
    }
    const live = showLive(api, links, say);
    const end = await Promise.race([ended, first.then(() => ended)]);
    live.stop();
    say(`Ending (${end.reason}) …`);
    return 0;
  } finally {
    await stage.stop();
  }
}

async function linksOf(stage: Stage): Promise<string[]> {
  const pool = openPool(stage.services.databaseUrl, () => undefined, 1);
  try {
    const link = await createLoginLink(pool, { principal: "admin", role: "admin", now: new Date() });
    return [
      `Page        ${stage.server.url}/login?link=${link}  (once, within 15 minutes; then ${stage.server.url}/)`,
      `API docs    ${stage.server.url}/api/docs`,
      `Temporal UI ${stage.services.temporalUiUrl ?? "the one of your own Temporal"}`,
      `Git         ${stage.repository.work}  (edit, commit, push)`,
      "Commands    npx myrctl rollouts list, npx myrctl agents list, npx myrctl --help",
    ];
  } finally {
    await pool.end();
  }
}
