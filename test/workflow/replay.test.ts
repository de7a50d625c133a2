/**
 * Histories that the tour recorded are replayed against today's workflows: a change that does not fit what ran before
 * breaks here, not in somebody's running rollout. New ones: `npm run quickstart -- --once --record test/histories/<release>`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { historyFromJSON } from "@temporalio/common/lib/proto-utils.js";
import { bundleWorkflowCode, Worker, type WorkflowBundleWithSourceMap } from "@temporalio/worker";
import { beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../histories/", import.meta.url));
const releases = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
let workflowBundle: WorkflowBundleWithSourceMap;

beforeAll(async () => {
  const workflowsPath = fileURLToPath(new URL("../../src/workflows/index.ts", import.meta.url));
  workflowBundle = await bundleWorkflowCode({ workflowsPath });
});

test("there are histories to replay", () => {
  expect(releases.length).toBeGreaterThan(0);
});

describe.each(releases.map(({ name }) => name))("histories of %s", (release) => {
  const files = readdirSync(join(root, release)).filter((name) => name.endsWith(".json"));
  test.each(files)("%s replays", async (file) => {
    const recorded: unknown = JSON.parse(readFileSync(join(root, release, file), "utf8"));
    const workflowId = file.replace(/\.json$/, "");
    await Worker.runReplayHistory({ workflowBundle }, historyFromJSON(recorded), workflowId);
  });
});
