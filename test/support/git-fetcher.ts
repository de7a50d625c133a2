/**
 * A worker's reading of the repository as a process of its own, so that a test can kill it: settings as JSON, and how often
 * to fetch and read. Prints the commit of each round.
 */
import { createGitRemote, type GitRemoteSettings } from "../../src/activities/git-remote.ts";
import { DEFAULT_LIMITS } from "../../src/domain/gitops/repository-files.ts";

const [settings = "", rounds = "1"] = process.argv.slice(2);
const remote = createGitRemote(JSON.parse(settings) as GitRemoteSettings);
for (let round = 0; round < Number(rounds); round += 1) {
  const { commit } = await remote.fetchHead();
  const files = await remote.readRevision(commit, DEFAULT_LIMITS);
  console.log(`${commit} ${files.length}`);
}
