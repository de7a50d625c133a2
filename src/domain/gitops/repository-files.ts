/** Which files of a repository are read, by name and mode alone (contract, "Repository layout" and "Rules"). */
import { CONTRACT_DEFAULTS } from "../brand.ts";
import { ISSUE_CODES, type Issue, type IssueCode } from "./issue-codes.ts";
import { compareText } from "./plain.ts";

/** One entry at or below `gitops.path`; `path` is relative to it. `mode` is Git's: 100644, 100755, 120000, 160000. */
export type RepositoryEntry = { path: string; mode: string; size: number };
/** With its content where it is read, and with the id of its blob where Git knows one: equal ids are equal bytes. */
export type RepositoryFile = RepositoryEntry & { bytes?: Uint8Array; oid?: string };
export type Limits = {
  maxFiles: number;
  maxYamlBytes: number;
  maxFileBytes: number;
  /** `gitops.path`, put before the path of each issue so that it can be found in the repository. */
  base: string;
};
export const DEFAULT_LIMITS: Limits = {
  maxFiles: CONTRACT_DEFAULTS.maxFiles,
  maxYamlBytes: CONTRACT_DEFAULTS.maxYamlBytes,
  maxFileBytes: CONTRACT_DEFAULTS.maxFileBytes,
  base: "",
};

export type Selection = { objects: string[]; samples: string[]; issues: Issue[] };

/** The files to read, sorted. When a limit of the whole repository is passed there are none. */
export function selectFiles(entries: readonly RepositoryEntry[], limits: Limits): Selection {
  const issues: Issue[] = [];
  const refuse = (code: IssueCode, path: string, message: string): void => {
    issues.push(fileIssue(code, withBase(limits, path), message));
  };
  for (const { path, mode } of entries) {
    if (!REGULAR.has(mode)) refuse("not_regular_file", path, NOT_REGULAR[mode] ?? "not a regular file");
  }
  const regular = entries.filter(({ mode }) => REGULAR.has(mode)).toSorted((a, b) => compareText(a.path, b.path));
  const yaml = regular.filter(({ path }) => isObjectFile(path) || isSampleFile(path));
  const total = yaml.reduce((sum, { size }) => sum + size, 0);
  if (yaml.length > limits.maxFiles) {
    refuse("too_many_files", "", `${yaml.length} YAML files, at most ${limits.maxFiles} are read`);
  }
  if (total > limits.maxYamlBytes) {
    refuse("repository_too_large", "", `${total} bytes of YAML, at most ${limits.maxYamlBytes} are read`);
  }
  if (yaml.length > limits.maxFiles || total > limits.maxYamlBytes) return { objects: [], samples: [], issues };
  const small = yaml.filter(({ path, size }) => {
    if (size > limits.maxFileBytes)
      refuse("file_too_large", path, `${size} bytes, at most ${limits.maxFileBytes} are read`);
    return size <= limits.maxFileBytes;
  });
  const paths = small.map(({ path }) => path);
  return { objects: paths.filter(isObjectFile), samples: paths.filter(isSampleFile), issues };
}

const REGULAR = new Set(["100644", "100755"]);
const NOT_REGULAR: Record<string, string> = { "120000": "a symbolic link", "160000": "a submodule" };

/** As in a shell, `*.yaml` does not match a name that begins with a dot; folders that begin with one are left out. */
export function isObjectFile(path: string): boolean {
  const names = path.split("/");
  return isYamlName(names.at(-1)) && !names.some((name) => name.startsWith(".")) && names[0] !== "samples";
}

export function isSampleFile(path: string): boolean {
  const names = path.split("/");
  return names.length === 3 && names[0] === "samples" && names[1] === "agents" && isYamlName(names[2]);
}

const isYamlName = (name: string | undefined): boolean => name !== undefined && /^[^.].*\.ya?ml$/.test(name);

export const withBase = ({ base }: Limits, path: string): string =>
  [base, path].filter((part) => part !== "").join("/");

/** An issue of a whole file. */
export const fileIssue = (code: IssueCode, file: string, message: string): Issue => ({
  code,
  severity: ISSUE_CODES[code].severity,
  file,
  line: 1,
  column: 1,
  path: "",
  message,
});
