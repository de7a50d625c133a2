/** What one agent was sent, what it runs, and where both differ. Secrets of hosts are masked before anything leaves. */
import { createTwoFilesPatch } from "diff";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { compareConfig } from "../../domain/agents/config-compare.ts";
import { redactConfig } from "../../domain/agents/redact-config.ts";
import { failure } from "../../domain/errors.ts";
import * as rest from "../../domain/rest/agent-config.ts";
import { uid } from "../../domain/rest/common.ts";
import { problems } from "../../domain/rest/problem.ts";
import { readAgentConfig, type AgentConfigRow } from "../../store/agent-config.ts";
import type { Pool } from "../../store/database.ts";
import { readEffective, type Effective } from "../opamp/effective-config.ts";
import { createSeal, type Seal } from "../opamp/seal.ts";

type Deps = { pool: Pool; keys: readonly Uint8Array[] };

export const agentConfigRoutes =
  ({ pool, keys }: Deps): FastifyPluginAsyncZod =>
  async (app) => {
    const seal = createSeal(keys);
    app.route({
      method: "GET",
      url: "/agents/:uid/config",
      schema: {
        tags: ["agents"],
        summary: "What it was sent, what it runs (secrets masked), and the difference",
        params: z.object({ uid }),
        response: { ...problems, 200: rest.agentConfig },
      },
      handler: async (request, reply) => {
        const row = await readAgentConfig(pool, request.params.uid);
        if (row === undefined) throw failure("not_found", { what: `agent ${request.params.uid}` });
        reply.header("cache-control", "no-store");
        return showConfig(row, seal);
      },
    });
  };

function showConfig(row: AgentConfigRow, seal: Seal): z.output<typeof rest.agentConfig> {
  const { sentHash, sentAt, sentBody } = row;
  const effective = row.effective === null ? undefined : readEffective(seal, row.effective);
  const sent = sentBody === null ? undefined : sentBody.toString("utf8");
  return {
    uid: row.uid,
    hostName: row.hostName,
    sent: sentHash === null ? null : { hash: sentHash, at: sentAt?.toISOString() ?? null, yaml: sent ?? null },
    effective: effective === undefined ? null : { files: showFiles(effective, row.references) },
    ...showDifference(sent, effective),
  };
}

const asYaml = (data: unknown): string =>
  stringify(data, { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false });

function showFiles({ files }: Effective, references: readonly Buffer[]) {
  const sent = references.map((body): unknown => parse(body.toString("utf8")));
  return files.map(({ name, data }) => ({
    name,
    yaml: data === undefined ? null : asYaml(redactConfig(data, sent)),
  }));
}

/** Both sides hold only what was sent; a side that the host filled is masked like the whole. */
function showDifference(sent: string | undefined, effective: Effective | undefined) {
  if (sent === undefined || effective?.merged === undefined) return { drift: null, diff: null };
  const wanted: unknown = parse(sent);
  const { differences, projection } = compareConfig(wanted, effective.merged);
  const running = redactConfig(projection, [wanted]);
  const diff =
    differences.length === 0
      ? ""
      : createTwoFilesPatch("sent", "effective", asYaml(maskEqual(wanted)), asYaml(running), "", "", { context: 3 });
  return { drift: differences.map(({ path }) => ({ path })), diff };
}

/** Masked on the other side, so masked on this one: a mask is no difference. */
const maskEqual = (wanted: unknown): unknown => redactConfig(wanted, [wanted]);
