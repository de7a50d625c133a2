/** `executors.secrets`: which secrets executors may use, and below which URLs each may be sent. */
import type { SecretRules } from "../gitops/check-secret-names.ts";
import { judgePrefix } from "../update/allowed-url.ts";
import type { ServerFile } from "./server-schema.ts";

type Problem = { path: string[]; message: string; severity: "error" | "warning" };

/** Each entry names one secret, and prefixes that can serve; plain http is warned of in production. */
export function judgeExecutorSecrets({ mode, executors }: ServerFile): Problem[] {
  return executors.secrets.flatMap(({ env, file, urlPrefixes }, index) => {
    const at = ["executors", "secrets", String(index)];
    const problem = (path: string[], message: string, severity: Problem["severity"] = "error"): Problem[] => [
      { path, message, severity },
    ];
    const named = (env === undefined) === (file === undefined) ? problem(at, "give exactly one of env, file") : [];
    const prefixes = urlPrefixes.flatMap((prefix, n) => {
      const verdict = judgePrefix(prefix);
      if (!verdict.allowed) return problem([...at, "urlPrefixes", String(n)], verdict.because);
      const isPlain = mode === "production" && new URL(prefix).protocol === "http:";
      return isPlain ? problem([...at, "urlPrefixes", String(n)], "the secret is sent in plain http", "warning") : [];
    });
    return [...named, ...prefixes];
  });
}

export const secretRulesOf = ({ executors }: ServerFile): SecretRules =>
  executors.secrets.map(({ env, file, urlPrefixes }) =>
    env === undefined ? { kind: "file", name: file ?? "", urlPrefixes } : { kind: "env", name: env, urlPrefixes },
  );
