import { describe, expect, test } from "vitest";
import type { SecretRules } from "./check-secret-names.ts";
import { DEFAULT_LIMITS } from "./repository-files.ts";
import { validateRevision } from "./validate.ts";

const executor = (spec: string): Uint8Array =>
  new TextEncoder().encode(
    `apiVersion: myriarch.dev/v1alpha1\nkind: Executor\nmetadata: {name: x}\nspec:\n${spec.replaceAll(/^/gm, "  ")}\n`,
  );
const webhook = (url: string, secret = "secretEnv: HOOK"): string =>
  `type: webhook\nwebhook:\n  url: ${url}\n  ${secret}`;
const awx = (url: string, secret = "tokenEnv: AWX"): string =>
  `type: awx\nawx:\n  url: ${url}\n  jobTemplate: 7\n  ${secret}`;
function judge(spec: string, secrets?: SecretRules) {
  const bytes = executor(spec);
  const file = { path: "executors/x.yaml", mode: "100644", size: bytes.length, bytes };
  return validateRevision([file], DEFAULT_LIMITS, secrets === undefined ? {} : { secrets }).issues;
}
const env = (name: string, ...urlPrefixes: string[]): SecretRules => [{ kind: "env", name, urlPrefixes }];

test("a name that no rule has is a warning at the field that names it, and says what to write on the server", () => {
  expect(judge(webhook("https://hooks.example.com/x"), [])).toEqual([
    {
      code: "secret_not_allowed",
      severity: "warning",
      kind: "Executor",
      name: "x",
      file: "executors/x.yaml",
      line: 8,
      column: 16,
      path: "spec.webhook.secretEnv",
      message: "the server's configuration does not allow the environment variable HOOK; the executor cannot be used",
      hint: 'on the server: executors.secrets: [{env: HOOK, urlPrefixes: ["https://hooks.example.com/"]}]',
    },
  ]);
});

test("without the server's rules nothing is said: CI cannot know them", () => {
  expect(judge(webhook("https://hooks.example.com/x"))).toEqual([]);
});

describe("which URLs a rule reaches", () => {
  const rule = env("HOOK", "https://hooks.example.com/team");
  test.each([
    "https://hooks.example.com/team",
    "https://hooks.example.com/team/",
    "https://hooks.example.com/team/a?x=../y",
    "https://HOOKS.example.com:443/team/a",
  ])("%s is allowed", (url) => expect(judge(webhook(url), rule)).toEqual([]));
  test.each([
    "http://hooks.example.com/team",
    "https://hooks.example.com:8443/team",
    "https://hooks.example.com.evil.example/team",
    "https://evil.example/https://hooks.example.com/team",
    "https://hooks.example.com/teams",
    "https://hooks.example.com/",
    "https://hooks.example.com/team/../other",
    "https://hooks.example.com/team/%2e%2e/other",
    "https://hooks.example.com/team/..%2fother",
  ])("%s is not", (url) => {
    const [issue] = judge(webhook(url), rule);
    expect(issue).toMatchObject({ code: "secret_not_allowed", severity: "warning" });
    expect(issue?.message).toContain("below none of its urlPrefixes");
  });
  test("a prefix without a path reaches the whole origin", () => {
    for (const prefix of ["https://hooks.example.com", "https://hooks.example.com/"])
      expect(judge(webhook("https://hooks.example.com/a/b"), env("HOOK", prefix))).toEqual([]);
  });
});

describe("which secret a rule names", () => {
  const url = "https://awx.example.com/api";
  test.each<[string, string, SecretRules, number]>([
    ["an awx token by environment", awx(url), env("AWX", url), 0],
    [
      "an awx token by file",
      awx(url, "tokenFile: /etc/awx"),
      [{ kind: "file", name: "/etc/awx", urlPrefixes: [url] }],
      0,
    ],
    [
      "a webhook's secret by file",
      webhook(url, "secretFile: hook"),
      [{ kind: "file", name: "hook", urlPrefixes: [url] }],
      0,
    ],
    ["a file of a variable's name", awx(url, "tokenFile: AWX"), env("AWX", url), 1],
    ["another case", awx(url, "tokenEnv: awx"), env("AWX", url), 1],
    ["a second rule of the same name", awx(url), [...env("AWX", "https://other.example.com"), ...env("AWX", url)], 0],
    ["the built-in updater", "type: updater", [], 0],
  ])("%s", (_, spec, rules, issues) => expect(judge(spec, rules)).toHaveLength(issues));
});
