/**
 * May this branch or URL reach git? Nothing that git would read as an option, no transport that runs a program, no secret
 * in a URL (decisions, Git). Harmless names such as `lb-auto-voc` must pass.
 */

/** What is wrong with a branch name, or undefined: the rules of `git check-ref-format`, and no leading dash. */
export function judgeBranch(branch: string): string | undefined {
  if (branch === "") return "must not be empty";
  if (branch.startsWith("-")) return "must not begin with -";
  // oxlint-disable-next-line no-control-regex -- git refuses controls
  if (/[\u0000-\u0020\u007f~^:?*[\\]/.test(branch)) return "must not contain spaces, controls or any of ~^:?*[\\";
  if (branch.includes("..") || branch.includes("@{") || branch.includes("//")) return "must not contain .. or @{ or //";
  if (branch === "@" || /^\/|\/$|\.$/.test(branch)) return "must not be @, nor begin or end with /, nor end with .";
  if (branch.split("/").some((part) => part.startsWith(".") || part.endsWith(".lock"))) {
    return "no part may begin with . or end with .lock";
  }
  return branch.length > 200 ? "must not be longer than 200 characters" : undefined;
}

/** What is wrong with a revision such as `HEAD~2`, `v1` or a commit's name, or undefined: it may be no option of git. */
export function judgeRevision(revision: string): string | undefined {
  if (revision === "") return "must not be empty";
  if (revision.startsWith("-")) return "must not begin with -";
  // oxlint-disable-next-line no-control-regex -- git's answer would be read wrongly
  if (/[\u0000-\u001f\u007f]/.test(revision)) return "must not contain controls";
  return revision.length > 200 ? "must not be longer than 200 characters" : undefined;
}

const SCHEMES = new Set(["https:", "http:", "ssh:", "git:", "file:"]);
const SCP_LIKE = /^(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?!\/\/)[^-].*$/;

/** What is wrong with a repository's URL, or undefined. */
export function judgeGitUrl(url: string): string | undefined {
  if (url === "") return "must not be empty";
  if (url.startsWith("-")) return "must not begin with -";
  // oxlint-disable-next-line no-control-regex -- a line break would end git's command
  if (/[\u0000-\u001f\u007f]/.test(url)) return "must not contain controls";
  if (/^[A-Za-z0-9+.-]+::/.test(url)) return "must not name a remote helper";
  if (url.startsWith("/")) return undefined;
  if (url.includes(" ")) return "must not contain spaces";
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(url)) {
    return SCP_LIKE.test(url) ? undefined : "must be a URL, user@host:path or an absolute path";
  }
  const parsed = URL.parse(url);
  if (parsed === null) return "is not a URL";
  if (!SCHEMES.has(parsed.protocol)) return "must begin with https, http, ssh, git or file";
  if (parsed.hostname.startsWith("-")) return "must not name a host that begins with -";
  if (parsed.password !== "") return "must not contain a password: use gitops.credentials";
  return undefined;
}

/** What is wrong with `gitops.path`, or undefined. Empty is the root of the repository. */
export function judgeGitPath(path: string): string | undefined {
  if (path === "") return undefined;
  if (path.startsWith("/") || path.endsWith("/")) return "must be relative, without / at either end";
  const isOdd = path.split("/").some((part) => part === "" || part === "." || part === "..");
  return isOdd || path.includes("\0") ? "must not contain empty parts, . or .." : undefined;
}

/** Text of git for people: without user names, passwords, queries and the given secrets. */
export function redactGitText(text: string, secrets: readonly string[]): string {
  const hidden = secrets.filter((secret) => secret !== "").reduce((out, secret) => out.replaceAll(secret, "***"), text);
  return hidden.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/\s@']*@/gi, "$1").replace(/(https?:\/\/[^\s?']*)\?[^\s']*/gi, "$1");
}
