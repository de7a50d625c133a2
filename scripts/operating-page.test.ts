/** docs/operating.md tells of commands, routes, signals and configuration files that exist. */
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runMyrctl } from "../src/cli/program.ts";
import { enrolmentSnippet } from "../src/domain/agents/enrolment-snippet.ts";
import { parseServerConfig } from "../src/domain/config/server-config.ts";
import { CONTROL_EFFECTS } from "../src/domain/rollout/judge-control.ts";
import { HOLDS } from "../src/domain/rollout/holds.ts";
import { CONTROLS, WORKFLOW_IDS } from "../src/workflows/messages.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const pages = ["docs/operating.md", "docs/configuration.md", "deploy/compose/README.md"];
const page = readFileSync(`${root}docs/operating.md`, "utf8");
const blocks = Array.from(page.matchAll(/```yaml\n(.*?)```/gs), ([, text = ""]) => text);
const everything = pages.map((path) => readFileSync(root + path, "utf8")).join("\n");

/** The words of a command up to its first argument, flag or placeholder. */
const commands = new Set(
  Array.from(everything.matchAll(/\bmyrctl ((?:--[\w-]+ \S+ )*)([a-z][a-z ]*[a-z])/g), ([, , words = ""]) =>
    words.trim(),
  ),
);

test("each myrctl command is one", async () => {
  expect(commands.size).toBeGreaterThan(5);
  for (const words of commands) {
    const [group = "", sub] = words.split(" ");
    const help = async (args: string[]): Promise<string> => {
      const out: string[] = [];
      const io = { out: (text: string) => void out.push(text), err: (text: string) => void out.push(text) };
      await runMyrctl([...args, "--help"], {}, io, "0");
      return out.join("\n");
    };
    expect(await help([])).toMatch(new RegExp(`^  ${group}\\b`, "m"));
    const children = await help([group]);
    if (sub !== undefined && children.includes("Commands:")) expect(children).toMatch(new RegExp(`^  ${sub}\\b`, "m"));
  }
});

test("the server's configuration in the text holds, without a warning", () => {
  const result = parseServerConfig(blocks[0] ?? "", "server.yaml", {});
  expect(result).toMatchObject({ ok: true, warnings: [] });
});

test("every file that enrols a host is named", () => {
  const { files } = enrolmentSnippet({ publicUrl: "https://fleet.example.com", transport: "websocket" });
  for (const { path } of files) expect(page).toContain(basename(path));
});

test("every control and every hold is explained", () => {
  for (const control of CONTROLS) expect(page).toContain(`\n| \`${control}\` |`);
  expect(Object.keys(CONTROL_EFFECTS).toSorted()).toEqual([...CONTROLS].toSorted());
  for (const hold of HOLDS) expect(page).toContain(`\`${hold}\``);
});

test("the signal of the example goes to the workflow of a rollout", () => {
  expect(page).toContain(`--workflow-id ${WORKFLOW_IDS.rollout("demo", 3)} --name pause`);
});

test("files and pages that are named exist", () => {
  const named = everything.matchAll(/\b((?:deploy|examples|docs)\/[\w./-]+\w)/g);
  const absent = Array.from(named, ([, path = ""]) => path).filter((path) => !existsSync(root + path));
  // an operator puts it there
  expect(absent.filter((path) => path !== "deploy/compose/trusted_root.json")).toEqual([]);
  for (const [, path = ""] of page.matchAll(/\]\(([\w.-]+\.md)\)/g))
    expect(existsSync(`${root}docs/${path}`)).toBe(true);
});
