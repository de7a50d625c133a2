/** From one document of `samples/agents/*.yaml` to a sample agent (gitops-schema, samples). */
import type { FleetAgent } from "../fleet/agent.ts";
import type { Issue } from "./issue-codes.ts";
import { sampleAgent } from "./kinds/sample-agent.ts";
import { issueAt, type Source } from "./read-objects.ts";
import { isPlainMap } from "./plain.ts";
import { checkSchema, type Finding } from "./schema-issues.ts";
import type { SourceDocument } from "./yaml-convert.ts";

/** A sample agent, and where it begins. */
export type Sample = { name: string; agent: FleetAgent; file: string; line: number };

const NOT_A_SAMPLE: Finding = {
  code: "unknown_field",
  path: ["apiVersion"],
  at: "key",
  message: "only sample agents are read here, this is an object of the repository",
  hint: "move it to another folder than samples",
};

/** Reads one sample document. */
export function readSample(file: string, document: SourceDocument): { sample: Sample | undefined; issues: Issue[] } {
  const source: Source = { file, document };
  if (isPlainMap(document.data) && "apiVersion" in document.data && "kind" in document.data) {
    return { sample: undefined, issues: [issueAt(source, NOT_A_SAMPLE)] };
  }
  const { value, findings } = checkSchema(sampleAgent, document.data);
  if (value === undefined) return { sample: undefined, issues: findings.map((finding) => issueAt(source, finding)) };
  const attribute = (key: string): string => String(value.attributes[key] ?? "");
  const agent: FleetAgent = {
    uid: attribute("service.instance.id") || value.name,
    hostName: attribute("host.name") || value.name,
    os: attribute("os.type"),
    arch: attribute("host.arch"),
    serviceName: attribute("service.name"),
    version: attribute("service.version"),
    credential: "",
    credentialLabels: value.tokenLabels,
    attributes: value.attributes,
  };
  return { sample: { name: value.name, agent, file, line: document.line }, issues: [] };
}
