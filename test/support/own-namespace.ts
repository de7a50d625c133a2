/** A Temporal namespace of its own, so that no test meets the workflows of another. */
import { randomBytes } from "node:crypto";
import { Connection } from "@temporalio/client";
import { msNumberToTs } from "@temporalio/common/lib/time.js";

const DAY_MS = 86_400_000;

/** Registers it; every part of the server knows it within seconds. Whoever asks closes the connection. */
export async function openNamespace(address: string): Promise<{ namespace: string; connection: Connection }> {
  const namespace = `t-${randomBytes(5).toString("hex")}`;
  const connection = await Connection.connect({ address });
  const workflowExecutionRetentionPeriod = msNumberToTs(DAY_MS);
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
  return { namespace, connection };
}
