/** What Myriarch needs of a Temporal namespace: the typed search attributes, and histories kept long enough to read. */
import type { Connection } from "@temporalio/client";
import { msNumberToTs } from "@temporalio/common/lib/time.js";
import { SEARCH_ATTRIBUTES } from "../workflows/messages.ts";

/** `temporal.api.enums.v1.INDEXED_VALUE_TYPE_KEYWORD` */
const KEYWORD = 2;
/** gRPC status */
const UNIMPLEMENTED = 12;

/** Registers every search attribute that is missing; one that another process registered meanwhile is fine. */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  const known = await listKnown(connection, namespace);
  const missing = SEARCH_ATTRIBUTES.filter((name) => !known.includes(name));
  if (missing.length === 0) return;
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
  } catch (error) {
    if (!/already exist/i.test((error as Error).message)) throw error;
  }
}

async function listKnown(connection: Connection, namespace: string): Promise<string[]> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return Object.keys(customAttributes);
  } catch (error) {
    // The time-skipping test server starts without any and cannot list them.
    if ((error as { code?: number }).code === UNIMPLEMENTED) return [];
    throw error;
  }
}

/** Histories of closed workflows stay readable this long; a development server starts with 24 hours. */
export async function raiseRetention(connection: Connection, namespace: string, days: number): Promise<void> {
  const { config } = await connection.workflowService.describeNamespace({ namespace });
  const seconds = days * 86_400;
  if (Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) >= seconds) return;
  await connection.workflowService.updateNamespace({
    namespace,
    config: { workflowExecutionRetentionTtl: msNumberToTs(seconds * 1000) },
  });
}
