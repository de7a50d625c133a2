/** The one way in which anything is fetched: the server's clone and what `myrctl` reads once. */
import { redactGitText } from "../domain/gitops/remote-names.ts";
import { gitAccess, type GitPeer } from "./git-access.ts";
import { GitFailed, runGit } from "./git-process.ts";

export type GitFetch = {
  /** Git's own refspecs; whoever builds them has judged their names. */
  refspecs: readonly string[];
  /** Only the newest commit of each. */
  shallow: boolean;
  signal?: AbortSignal | undefined;
};

/** Fetches into the repository at `cwd`. Throws GitFailed; neither its message nor its cause holds a secret of ours. */
export async function fetchRefs(cwd: string, peer: GitPeer, { refspecs, shallow, signal }: GitFetch): Promise<void> {
  const { env, config, secrets } = await gitAccess(peer);
  const depth = shallow ? ["--depth=1"] : [];
  const options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", ...depth];
  const args = [...config, "fetch", ...options, "--", peer.url, ...refspecs];
  await runGit(args, { cwd, env, timeoutMs: peer.timeoutMs, signal }).catch((error: unknown) => {
    if (!(error instanceof GitFailed)) throw error;
    throw new GitFailed(redactGitText(error.message, secrets), { cause: error.cause });
  });
}
