/** Bad repositories: what each is made of. A case is a small valid repository with one kind of fault put into it. */
import type { SecretRules } from "../check-secret-names.ts";
import type { IssueCode } from "../issue-codes.ts";
import type { Limits, RepositoryFile } from "../repository-files.ts";

/** `codes` are the codes of all issues that the repository must give, warnings too, each once: no noise besides. */
export type BadCase = {
  what: string;
  codes: IssueCode[];
  files: Record<string, string | Uint8Array>;
  limits?: Partial<Limits>;
  /** Entries whose mode is not that of a regular file. */
  modes?: Record<string, string>;
  /** The server's `executors.secrets`, where the case is about them. */
  secrets?: SecretRules;
};

/** Text without the indentation that it has only because it stands in a program. */
export function block(text: string): string {
  const lines = text.replace(/^\n/, "").replace(/\n *$/, "\n").split("\n");
  const indents = lines.filter((line) => line.trim() !== "").map((line) => /^ */.exec(line)?.[0].length ?? 0);
  const least = Math.min(...indents);
  return lines.map((line) => line.slice(least)).join("\n");
}

const indent = (text: string): string => text.replace(/^(?=.)/gm, "  ");

/** An object whose spec begins in line 6. */
export const object = (kind: string, name: string, spec: string): string =>
  `apiVersion: myriarch.dev/v1alpha1\nkind: ${kind}\nmetadata:\n  name: ${name}\nspec:\n${indent(block(spec))}`;

type Files = Record<string, string>;
export const fleet = (spec: string): Files => ({ "fleets/x.yaml": object("Fleet", "x", spec) });
export const blueprint = (spec: string): Files => ({ "blueprints/x.yaml": object("Blueprint", "x", spec) });
export const policy = (spec: string): Files => ({ "policies/x.yaml": object("RolloutPolicy", "x", spec) });
export const executor = (spec: string): Files => ({ "executors/x.yaml": object("Executor", "x", spec) });
export const inventory = (spec: string): Files => ({ "inventory/x.yaml": object("Inventory", "x", spec) });
/** A blueprint x that a fleet renders for the sample agent; `more` are further fields of the fleet. */
export const rendered = (spec: string, more = ""): Files => ({
  ...blueprint(spec),
  ...fleet(`selector: {}\nblueprint: x\n${more}`),
});

/** The valid repository that every case changes. Its fleet stands behind every other. */
const BASE: Files = {
  "blueprints/base.yaml": object(
    "Blueprint",
    "base",
    `
      parameters:
        port: {type: integer, default: 4317}
      config:
        receivers:
          otlp: {protocols: {grpc: {endpoint: "0.0.0.0:{{ parameters.port }}"}}}
        exporters:
          debug: {}
        service:
          pipelines:
            metrics: {receivers: [otlp], exporters: [debug]}
    `,
  ),
  "fleets/all.yaml": object(
    "Fleet",
    "all",
    `
      selector: {}
      priority: -1
      blueprint: base
      version: {target: "0.162.0"}
    `,
  ),
  "samples/agents/one.yaml": "name: one\nattributes: {host.name: one, os.type: linux}\n",
};

export function repositoryOf(files: BadCase["files"], modes: BadCase["modes"] = {}): RepositoryFile[] {
  return Object.entries({ ...BASE, ...files }).map(([path, content]) => {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const mode = modes[path] ?? "100644";
    return { path, mode, size: bytes.length, ...(mode === "100644" ? { bytes } : {}) };
  });
}
