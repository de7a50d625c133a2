import { defineSearchAttributeKey, SearchAttributeType } from "@temporalio/common";
import { sleep, upsertSearchAttributes } from "@temporalio/workflow";

/** Proves that the environment skips time: returns how long it slept, in milliseconds of the server's clock. */
export async function sleepADay(): Promise<number> {
  const fleet = defineSearchAttributeKey("MyriarchFleet", SearchAttributeType.KEYWORD);
  upsertSearchAttributes([{ key: fleet, value: "linux-hosts" }]);
  const before = Date.now();
  await sleep("24 hours");
  return Date.now() - before;
}
