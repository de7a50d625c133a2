/** The sync, and in place of the planner a workflow that remembers what woke it. */
import { condition, defineQuery, setHandler } from "@temporalio/workflow";
import { poke } from "../../src/workflows/messages.ts";

export { gitSync } from "../../src/workflows/git-sync.ts";

export const causes = defineQuery<string[]>("causes");

export async function listeningPlanner(): Promise<void> {
  const heard: string[] = [];
  setHandler(causes, () => heard);
  setHandler(poke, ({ cause }) => void heard.push(cause));
  await condition(() => false);
}
