/** Secrets that stand in Git in plain text: a warning, because only the author knows (contract, "No secrets in Git"). */
import type { Issue } from "./issue-codes.ts";
import { isPlainMap, type Plain } from "./plain.ts";
import type { Located } from "./read-objects.ts";
import { report, type Revision } from "./revision.ts";
import type { Path } from "./yaml-convert.ts";

const SECRET_KEY =
  /(?:^|[_-])(?:password|passwd|passphrase|secret|token|api[_-]?key|apikey|authorization|private[_-]?key|access[_-]?key)$/i;
/** References that the collector or the templates resolve; receiver_creator evaluates what stands in backticks. */
const REFERENCE = /\$\{(?:env:|file:)?[^}]+\}|\{\{|\{%|^`[^`]+`$/;

export function checkSecrets(revision: Revision): Issue[] {
  return revision.located.flatMap((located) =>
    freeFormAreas(located).flatMap(([path, value]) => scan(located, path, value)),
  );
}

function freeFormAreas({ object }: Located): [Path, Plain][] {
  switch (object.kind) {
    case "Blueprint":
      return [
        [["spec", "config"], object.spec.config],
        ...object.spec.fragments.map(({ config }, index): [Path, Plain] => [
          ["spec", "fragments", index, "config"],
          config,
        ]),
      ];
    case "Fleet":
      return [
        [["spec", "parameters"], object.spec.parameters],
        [["spec", "update", "params"], object.spec.update.params],
      ];
    case "Inventory":
      return object.spec.entries.map(({ parameters }, index): [Path, Plain] => [
        ["spec", "entries", index, "parameters"],
        parameters,
      ]);
    case "Executor":
      return object.spec.awx === undefined ? [] : [[["spec", "awx", "extraVars"], object.spec.awx.extraVars]];
    case "RolloutPolicy":
    default:
      return [];
  }
}

/** What ends in a collector's configuration; the other areas go to an executor. */
const forCollectors = ({ object }: Located, path: Path): boolean =>
  object.kind !== "Executor" && path.slice(0, 3).join(".") !== "spec.update.params";

function scan(located: Located, path: Path, value: Plain): Issue[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => scan(located, [...path, index], item));
  if (!isPlainMap(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const at = [...path, key];
    if (typeof member !== "string") return scan(located, at, member);
    if (member === "" || !SECRET_KEY.test(snakeCase(key)) || REFERENCE.test(member)) return [];
    const hint = forCollectors(located, path)
      ? "write ${env:NAME} or ${file:/path}; the collector resolves it on the host"
      : "let the executor's own side hold it; Git only names secrets";
    const message = `${key} looks like a secret in plain text`;
    return [report(located, { code: "plaintext_secret", path: at, at: "key", message, hint })];
  });
}

/** `clientSecret` is `client_secret`. */
const snakeCase = (key: string): string => key.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_");
