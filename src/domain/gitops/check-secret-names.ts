/**
 * May an executor use the secret that it names? Only the server's configuration decides (`executors.secrets`), and only
 * below the URL prefixes that it gives: Git names a secret, it must not choose where the secret is sent (contract, "No
 * secrets in Git"). A warning: CI cannot know the configuration of the server.
 */
import { judgePrefix } from "../update/allowed-url.ts";
import type { Issue } from "./issue-codes.ts";
import { locatedOf, report, type LocatedOf, type Revision } from "./revision.ts";

/** One entry of `executors.secrets`: the secret and the URLs below which it may be sent. */
export type SecretRule = { kind: "env" | "file"; name: string; urlPrefixes: readonly string[] };
export type SecretRules = readonly SecretRule[];

type Use = { field: string[]; kind: SecretRule["kind"]; name: string; url: string };

/** One `secret_not_allowed` for each secret of an executor that no rule allows at the executor's URL. */
export function checkSecretNames(revision: Revision, rules: SecretRules): Issue[] {
  return locatedOf(revision, "Executor").flatMap((located) =>
    usesOf(located.object.spec)
      .filter((use) => !isAllowed(use, rules))
      .map((use) => refused(located, use, rules)),
  );
}

function usesOf({ awx, webhook }: LocatedOf<"Executor">["object"]["spec"]): Use[] {
  const uses: [string[], SecretRule["kind"], string | undefined, string | undefined][] = [
    [["awx", "tokenFile"], "file", awx?.tokenFile, awx?.url],
    [["awx", "tokenEnv"], "env", awx?.tokenEnv, awx?.url],
    [["webhook", "secretFile"], "file", webhook?.secretFile, webhook?.url],
    [["webhook", "secretEnv"], "env", webhook?.secretEnv, webhook?.url],
  ];
  return uses.flatMap(([field, kind, name, url]) =>
    name === undefined || url === undefined ? [] : [{ field: ["spec", ...field], kind, name, url }],
  );
}

const rulesOf = ({ kind, name }: Use, rules: SecretRules): SecretRules =>
  rules.filter((rule) => rule.kind === kind && rule.name === name);

const isAllowed = (use: Use, rules: SecretRules): boolean =>
  rulesOf(use, rules).some(({ urlPrefixes }) => urlPrefixes.some((prefix) => isAtOrBelow(use.url, prefix)));

/** Same origin, and the path equal or below on a segment boundary; a path that some server may read as climbing is not. */
function isAtOrBelow(text: string, prefix: string): boolean {
  const [url, allowed] = [URL.parse(text), URL.parse(prefix)];
  if (url === null || allowed === null || !judgePrefix(text.replace(/[?#].*$/s, "")).allowed) return false;
  const base = allowed.pathname.replace(/\/+$/, "");
  return url.origin === allowed.origin && (url.pathname === base || url.pathname.startsWith(`${base}/`));
}

function refused(located: LocatedOf<"Executor">, use: Use, rules: SecretRules): Issue {
  const what = `${use.kind === "env" ? "the environment variable" : "the file"} ${use.name}`;
  const { origin } = new URL(use.url);
  const isKnown = rulesOf(use, rules).length > 0;
  return report(located, {
    code: "secret_not_allowed",
    path: use.field,
    at: "value",
    message: isKnown
      ? `${what} may not be sent to ${origin}: it is below none of its urlPrefixes; the executor cannot be used`
      : `the server's configuration does not allow ${what}; the executor cannot be used`,
    hint: `on the server: executors.secrets: [{${use.kind}: ${use.name}, urlPrefixes: ["${origin}/"]}]`,
  });
}
