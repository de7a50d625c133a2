/** The time-skipping Temporal server for workflow tests: one global clock, so tests of one environment run in turn. */
import { TestWorkflowEnvironment } from "@temporalio/testing";
import { guardProcess } from "../../src/embedded/child.ts";
import { findProcesses } from "../../src/embedded/processes.ts";
import { registerSearchAttributes } from "../../src/embedded/temporal-namespace.ts";
import { ensureTemporalTestServer } from "../../src/embedded/temporal-program.ts";

/** Starts a server of its own, with our search attributes; `teardown()` ends it, and so does the end of this process. */
export async function createTimeSkippingEnvironment(): Promise<TestWorkflowEnvironment> {
  const path = await ensureTemporalTestServer((line) => console.error(line));
  const environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: "existing-path", path } },
  });
  const port = environment.address.split(":").at(-1) ?? "";
  const unguards = findProcesses((args) => args[0] === path && args.includes(port)).map(({ pid }) =>
    guardProcess(pid, "SIGTERM"),
  );
  // An attribute that is not registered makes every upsert fail and repeat for ever.
  await registerSearchAttributes(environment.connection, environment.namespace ?? "default");
  const teardown = environment.teardown.bind(environment);
  environment.teardown = async () => {
    await teardown();
    for (const unguard of unguards) unguard();
  };
  return environment;
}
