/** From the documents of a file to objects: the envelope, the kind, the spec; every issue with its place. */
import { BRAND } from "../brand.ts";
import { closest } from "../config/closest.ts";
import { ISSUE_CODES, type Issue } from "./issue-codes.ts";
import { KINDS, metadata, SPECS, type GitObject, type Kind } from "./kinds.ts";
import { NAME } from "./kinds/fields.ts";
import { isPlainMap, type PlainMap } from "./plain.ts";
import { checkSchema, type Finding } from "./schema-issues.ts";
import { pathText, type Place, type Problem, type SourceDocument } from "./yaml-convert.ts";

/** A document of a file with what it says of itself, as far as that could be read, and where its fields stand. */
export type Source = { file: string; document: Place; kind?: string; name?: string };
/** An accepted object and where each of its fields stands. */
export type Located = Source & { object: GitObject };
export type ReadObject = { source: Source; object: GitObject | undefined; issues: Issue[] };

const ENVELOPE = ["apiVersion", "kind", "metadata", "spec"];

/** Reads one document. It is an object only when nothing of it is wrong. */
export function readObject(file: string, document: SourceDocument): ReadObject {
  const { data } = document;
  const source: Source = { file, document, ...namesOf(data) };
  if (!isPlainMap(data)) {
    const hint = Array.isArray(data) ? { hint: "write one object per document, separated by ---" } : {};
    const findings = ["apiVersion", "kind"].map((field) => ({
      ...missing(field, "the document is not a map"),
      ...hint,
    }));
    return { source, object: undefined, issues: findings.map((finding) => issueAt(source, finding)) };
  }
  const kind = KINDS.find((known) => known === data["kind"]);
  const findings = [...judgeEnvelope(data), ...judgeKind(data)];
  const meta = checkSchema(metadata, data["metadata"] ?? {}, ["metadata"]);
  findings.push(...(isPlainMap(data["metadata"]) ? meta.findings : []));
  const spec = kind === undefined ? undefined : checkSpec(kind, data, findings);
  const isAccepted = findings.length === 0 && kind !== undefined && meta.value !== undefined && spec !== undefined;
  const object = isAccepted
    ? ({
        kind,
        name: meta.value?.name ?? "",
        metadata: meta.value,
        spec,
        source: { file, line: document.line },
      } as GitObject)
    : undefined;
  return { source, object, issues: findings.map((finding) => issueAt(source, finding)) };
}

function namesOf(data: unknown): { kind?: string; name?: string } {
  if (!isPlainMap(data)) return {};
  const name = isPlainMap(data["metadata"]) ? data["metadata"]["name"] : undefined;
  return {
    ...(typeof data["kind"] === "string" ? { kind: data["kind"] } : {}),
    ...(typeof name === "string" && NAME.test(name) ? { name } : {}),
  };
}

const missing = (field: string, because?: string): Finding => ({
  code: "missing_field",
  path: [field],
  at: "key",
  message: because === undefined ? `${field} is missing` : `${field} is missing: ${because}`,
});

function judgeEnvelope(data: PlainMap): Finding[] {
  const findings: Finding[] = ENVELOPE.filter((field) => (data[field] ?? null) === null).map((field) => missing(field));
  for (const key of Object.keys(data)) {
    if (ENVELOPE.includes(key)) continue;
    const near = closest(key, ENVELOPE);
    const hint = near === undefined ? {} : { hint: `did you mean ${near}?` };
    findings.push({ code: "unknown_field", path: [key], at: "key", message: `${key} is not a known field`, ...hint });
  }
  for (const field of ["metadata", "spec"]) {
    if ((data[field] ?? null) === null || isPlainMap(data[field])) continue;
    findings.push({ code: "invalid_value", path: [field], at: "value", message: `${field} must be a map` });
  }
  return findings;
}

function judgeKind(data: PlainMap): Finding[] {
  const findings: Finding[] = [];
  const { apiVersion = null, kind = null } = data;
  if (apiVersion !== null && apiVersion !== BRAND.apiVersion) {
    const message = `must be ${BRAND.apiVersion}`;
    findings.push({ code: "invalid_api_version", path: ["apiVersion"], at: "value", message });
  }
  if (kind !== null && !KINDS.some((known) => known === kind)) {
    const near = typeof kind === "string" ? closest(kind, KINDS) : undefined;
    const hint = near === undefined ? {} : { hint: `did you mean ${near}?` };
    const message = `must be one of ${KINDS.join(", ")}`;
    findings.push({ code: "unknown_kind", path: ["kind"], at: "value", message, ...hint });
  }
  return findings;
}

function checkSpec(kind: Kind, data: PlainMap, findings: Finding[]): unknown {
  const spec = data["spec"] ?? null;
  if (!isPlainMap(spec)) return undefined;
  const checked = checkSchema(SPECS[kind], spec, ["spec"]);
  findings.push(...checked.findings);
  return checked.value;
}

/** The issue of a finding in `source`. */
export function issueAt(source: Source, finding: Finding): Issue {
  const { code, path, message, hint } = finding;
  const place = finding.at === "key" ? source.document.keyAt(path) : source.document.valueAt(path);
  return {
    code,
    severity: ISSUE_CODES[code].severity,
    ...(source.kind === undefined ? {} : { kind: source.kind }),
    ...(source.name === undefined ? {} : { name: source.name }),
    file: source.file,
    ...place,
    path: pathText(path),
    message,
    ...(hint === undefined ? {} : { hint }),
  };
}

/** The issue of what the YAML reader found in a file of `documents`. */
export const issueOf = (file: string, problem: Problem, documents: readonly SourceDocument[]): Issue => {
  const { code, line, column, path, message, hint, document } = problem;
  return {
    code,
    severity: ISSUE_CODES[code].severity,
    ...(document === undefined ? {} : namesOf(documents[document]?.data)),
    file,
    line,
    column,
    path,
    message,
    ...(hint === undefined ? {} : { hint }),
  };
};
